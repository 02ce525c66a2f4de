import AuthDomain
import EventLoop
import Foundation
import JOSE
import JSON
import MessagesCore
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("Answers one by one", .serialized)
struct AnswerTests {
  @Test("O-01, O-02: forty-five steps in nine phases, 33 of which take input that is kept as 34 fields")
  func steps() async throws {
    try await OnboardingWorld.with { world in
      let list = try await world.client.listSteps()
      #expect(list.steps.map(\.number) == Array(1...45) && list.version == 1)
      #expect(Set(list.steps.map(\.phase)).count == 9)
      let types = Dictionary(grouping: list.steps, by: \.type).mapValues(\.count)
      #expect(
        types == [
          "explanation": 12, "voice": 15, "text": 9, "choice": 6, "dual_sliders": 1, "time_window_picker": 1,
          "long_press_activate": 1,
        ])
      #expect(list.steps.flatMap(\.dbFields).count == 34 && list.steps.count { !$0.dbFields.isEmpty } == 33)
      #expect(list.steps[1].minimumDuration?.seconds == 10 && list.steps[4].minimumDuration?.seconds == 7)
      let missing = await #expect(throws: RPCError.self) { try await world.client.listSteps(.init(version: 9)) }
      #expect(missing?.code == .notFound)
    }
  }

  @Test("O-04, JOB-M9: answers are kept one by one, a later one takes the place of an earlier one and never the other way round")
  func oneByOne() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      func save(_ step: Int32, _ answer: OnboardingAnswer) async throws -> SaveAnswerResponse {
        try await world.client.saveAnswer(.init(step: step, answer: answer), options: options)
      }
      #expect(try await save(3, .written("Ana", at: "2026-01-05T10:00:00Z")) == .init(answered: 1, isSuperseded: false))
      #expect(try await save(9, .written("evenings", at: "2026-01-05T10:01:00Z")).answered == 2)
      #expect(try await save(3, .written("Anna", at: "2026-01-05T11:00:00Z")).isSuperseded == false)
      #expect(try await save(3, .written("An", at: "2026-01-05T09:00:00Z")) == .init(answered: 2, isSuperseded: true))
      let progress = try await world.client.getProgress(options: options)
      #expect(progress.state?.responses["3"]?.value?.kind == .stringValue("Anna"))
      #expect(progress.state?.currentStep == 9 && progress.state?.progressPercentage == 20)
      let wrong = await #expect(throws: RPCError.self) { try await save(100, .written("x")) }
      #expect(wrong?.code == .invalidArgument)
      let broken = await #expect(throws: RPCError.self) {
        try await save(2, .init(type: "voice", value: .init(kind: .stringValue("data:audio/m4a;base64,@"))))
      }
      #expect(broken?.reason == "AUDIO_INVALID_BASE64")
    }
  }

  @Test("JOB-M9: all 45 answers of a record are taken one by one, sent again they change nothing, and all of them are complete")
  func allOneByOne() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let record = try OnboardingWorld.record(voices: 3)
      let steps = record.responses.keys.compactMap { Int32($0) }.sorted()
      #expect(steps == Array(1...45))
      for (index, step) in steps.enumerated() {
        let saved = try await world.client.saveAnswer(.init(step: step, answer: record.responses["\(step)"]), options: options)
        #expect(saved == .init(answered: Int32(index + 1), isSuperseded: false), "step \(step)")
      }
      func rows() async throws -> String? {
        try await world.value(
          """
          select md5(string_agg(md5(row_to_json(a)::text), '' order by step)) from (
            select step, type, value, recording, fields, answered_at, duration_seconds, audio_size, audio_format, voice_uri
            from onboarding.answer) as a
          """)
      }
      let kept = try await rows()
      // An app that went away in the middle goes on where it was, or begins anew: both come to the same.
      for step in steps.reversed() {
        let again = try await world.client.saveAnswer(.init(step: step, answer: record.responses["\(step)"]), options: options)
        #expect(again.answered == 45)
      }
      #expect(try await rows() == kept)
      #expect(try await world.value("select count(*) from onboarding.answer", as: Int64.self) == 45)
      #expect(try await world.value("select count(*) from onboarding.recording", as: Int64.self) == 3)
      let read = try await world.client.getProgress(options: options).state
      #expect(read?.totalResponses == 45)
      for (step, answer) in record.responses where answer.type != "voice" {
        #expect(read?.responses[step]?.value?.kind == answer.value?.kind, "step \(step)")
      }
      let complete = try await world.client.complete(.init(state: record), options: options)
      #expect(complete.totalSteps == 45 && complete.filesProcessed == 3 && complete.submission?.stage == .done, "\(complete)")
      #expect(
        try await world.value("select count(*) from onboarding.recording", as: Int64.self) == 3,
        "what was there is not kept twice")
    }
  }

  @Test("An answer out of its bounds is refused with its field, whichever way it comes, and nothing of it is kept")
  func bounds() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      func wide(_ count: Int) -> OnboardingAnswer {
        .written("x", at: "2026-01-05T10:00:00Z", keptAs: (1...count).map { "field_\($0)" })
      }
      func field(_ call: () async throws -> Void) async throws -> String? {
        let refusal = await #expect(throws: RPCError.self) { try await call() }
        #expect(refusal?.code == .invalidArgument)
        for case .badRequest(let violations) in refusal?.details ?? [] { return violations.first?.field }
        return nil
      }
      let (most, more) = (OnboardingState(responses: ["3": wide(8)]), OnboardingState(responses: ["3": wide(9)]))
      let key = String(repeating: "k", count: 32)
      #expect(
        try await field {
          _ = try await world.client.saveAnswer(.init(step: 3, answer: wide(9)), options: options)
        } == "answer.db_field")
      #expect(
        try await field {
          _ = try await world.client.complete(.init(state: more), options: options)
        } == "state.responses[3].db_field")
      #expect(
        try await field {
          _ = try await world.client.saveAnonymousProgress(.init(progressKey: key, state: more))
        } == "state.responses[3].db_field")
      #expect(try await world.value("select count(*) from onboarding.answer", as: Int64.self) == 0)
      _ = try await world.client.saveAnonymousProgress(.init(progressKey: key, state: most))
      #expect(try await world.client.saveAnswer(.init(step: 3, answer: wide(8)), options: options).answered == 1)
      #expect(try await world.client.complete(.init(state: most), options: options).submission?.stage == .done)
    }
  }

  @Test("O-03, O-51: what somebody answered without an account becomes theirs when they have one, once, and nobody else's")
  func anonymous() async throws {
    try await OnboardingWorld.with { world in
      let key = String(repeating: "k", count: 32)
      var state = OnboardingState(currentStep: 9)
      state.responses["3"] = .written("Ana", at: "2026-01-05T10:00:00Z")
      state.responses["9"] = .written("evenings", at: "2026-01-05T10:01:00Z")
      _ = try await world.client.saveAnonymousProgress(.init(progressKey: key, state: state))
      #expect(try await world.client.getAnonymousProgress(.init(progressKey: key)).state == state)
      let ana = try await world.signIn("ana")
      _ = try await world.client.saveAnswer(
        .init(step: 3, answer: .written("Anna", at: "2026-01-05T11:00:00Z")), options: OnboardingWorld.options(ana))
      let claimed = try await world.client.claimAnonymousProgress(.init(progressKey: key), options: OnboardingWorld.options(ana))
      #expect(claimed.answered == 2)
      let progress = try await world.client.getProgress(options: OnboardingWorld.options(ana))
      #expect(progress.state?.responses["3"]?.value?.kind == .stringValue("Anna"))
      let again = await #expect(throws: RPCError.self) {
        try await world.client.claimAnonymousProgress(.init(progressKey: key), options: OnboardingWorld.options(ana))
      }
      #expect(again?.code == .notFound && again?.reason == "PROGRESS_NOT_FOUND")
      let short = await #expect(throws: RPCError.self) {
        try await world.client.saveAnonymousProgress(.init(progressKey: "short", state: state))
      }
      #expect(short?.code == .invalidArgument)
      state.responses["2"] = .init(type: "voice", value: .init(kind: .stringValue("data:audio/m4a;base64,AAAA")))
      let spoken = await #expect(throws: RPCError.self) {
        try await world.client.saveAnonymousProgress(.init(progressKey: key, state: state))
      }
      #expect(spoken?.code == .invalidArgument)
    }
  }
}
