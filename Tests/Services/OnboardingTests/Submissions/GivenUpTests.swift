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

@Suite("Work that never ends well", .serialized)
struct GivenUpTests {
  /// What happens to a submission by itself, with time passing while none of its jobs runs, until `condition` holds.
  private static func time(_ world: OnboardingWorld, passesUntil condition: @escaping @Sendable () async throws -> Bool)
    async throws
  {
    try await eventually {
      if try await condition() { return true }
      let runs: Int64? = try await world.value("select count(*) from onboarding.job where holder is not null")
      if runs == 0 { world.parley.clock.advance(by: .seconds(61)) }
      return false
    }
  }

  @Test("O-34: a submission whose work always fails is given up after five new jobs; its answers stay, and may be sent again")
  func givenUp() async throws {
    try await OnboardingWorld.with(["TENDING_INTERVAL": "50ms", "SUBMISSION_OVERDUE_AFTER": "60s"]) { world in
      let ana = try await world.signIn("ana")
      try await world.refuse("insert", on: "identity_field", where: "new.name = 'quit_counter'")
      // One attempt for each job is enough here.
      try await world.execute([
        """
        create function onboarding.hasten() returns trigger language plpgsql as $$ begin new.max_attempts := 1; return new; end $$
        """, "create trigger hasten before insert on onboarding.job for each row execute function onboarding.hasten()",
      ])
      let state = OnboardingState(responses: ["3": .written("Ana"), "18": .written("eleven times")])
      let request = CompleteRequest(state: state, idempotencyKey: "once", wait: .init())
      let first = try await world.client.complete(request, options: OnboardingWorld.options(ana))
      try await Self.time(world) { try await world.value("select stage from onboarding.submission", as: String.self) == "failed" }
      #expect(try await world.value("select renewals from onboarding.submission", as: Int32.self) == 5)
      #expect(
        try await world.value("select count(*) from onboarding.dead_job where kind = 'onboarding.process'", as: Int64.self) == 6)
      // The pauses were kept: 1, 5 and 30 minutes and 2 hours.
      let hours: Double? = try await world.value(
        "select (extract(epoch from done_at - created_at) / 3600)::float8 from onboarding.submission")
      #expect((hours ?? 0) > 2.6, "\(hours as Any)")

      let options = OnboardingWorld.options(try await world.signIn("ana"))
      let given = try await world.client.getSubmission(options: options)
      #expect(given.submission?.stage == .failed && given.submission?.warnings.map(\.reason) == ["given_up"], "\(given)")
      // An error has no bar of its own: it stays where the understanding was.
      #expect(given.submission?.percent == 80)
      #expect(try await world.client.getProgress(options: options).state?.responses.count == 2)
      #expect(try await world.client.saveAnswer(.init(step: 9, answer: .written("evenings")), options: options).answered == 3)
      // Nothing stands in the way any more: the same answers under the same key are worked on anew.
      try await world.allow(on: "identity_field")
      let again = try await world.client.complete(.init(state: state, idempotencyKey: "once"), options: options)
      #expect(again.jobID != first.jobID && again.submission?.stage == .done, "\(again)")
    }
  }

  @Test("A U+0000 that a model makes up is dropped, and one that somebody sends is refused with its place")
  func nulls() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      var state = try OnboardingWorld.record(voices: 1)
      let hash = SHA256.digest(try #require(try OnboardingWorld.recordings(in: state).first?.value))
      try await world.sandbox.control(
        .post, "openai/transcripts",
        ["sha256": .string(Hexadecimal.text(hash)), "text": .string("I give\u{0} up early")])
      try await world.sandbox.control(
        .post, "openai/chat",
        ["document": ["core_struggle": ["value": "Gives\u{0} up", "quote": "give\u{0} up early", "step": 2]]])
      let answer = try await world.client.complete(.init(state: state), options: options)
      #expect(answer.submission?.stage == .done && answer.identityExtraction?.error == nil, "\(answer)")
      let kept: String? = try await world.value(
        "select value || '/' || quote from onboarding.identity_field where name = 'core_struggle'")
      #expect(kept == "Gives up/give up early")
      #expect(try await world.value("select transcript from onboarding.recording", as: String.self) == "I give up early")

      func field(_ call: () async throws -> Void) async throws -> String? {
        let refusal = await #expect(throws: RPCError.self) { try await call() }
        #expect(refusal?.code == .invalidArgument, "\(refusal as Any)")
        for case .badRequest(let violations) in refusal?.details ?? [] { return violations.first?.field }
        return nil
      }
      state.responses["3"] = .written("A\u{0}na")
      let broken = state
      state.responses["3"] = .written("Anna")
      let sound = state
      state.userName = "A\u{0}na"
      let named = state
      let key = String(repeating: "k", count: 32)
      #expect(
        try await field { _ = try await world.client.complete(.init(state: broken), options: options) }
          == "state.responses[3].value")
      #expect(try await field { _ = try await world.client.complete(.init(state: named), options: options) } == "state.user_name")
      #expect(
        try await field {
          _ = try await world.client.complete(
            .init(state: sound, deviceMetadata: .init(deviceModel: "\u{0}")), options: options)
        } == "device_metadata")
      #expect(
        try await field {
          _ = try await world.client.complete(.init(state: sound, idempotencyKey: "\u{0}"), options: options)
        } == "idempotency_key")
      #expect(
        try await field {
          _ = try await world.client.saveAnonymousProgress(
            .init(progressKey: key, state: .init(startedAt: "\u{0}", wakeUpTime: "\\u0000")))
        } == "state")
      _ = try await world.client.saveAnonymousProgress(.init(progressKey: key, state: .init(wakeUpTime: "\\u0000")))
      #expect(
        try await field {
          _ = try await world.identity.correctIdentity(.init(name: "core_struggle", value: "\u{0}"), options: options)
        } == "value")
      #expect(
        try await field { _ = try await world.voices.giveVoiceConsent(.init(statement: "\u{0}"), options: options) }
          == "statement")
    }
  }
}
