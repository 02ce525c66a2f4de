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
import Synchronization
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("The course of a submission", .serialized)
struct ProgressTests {
  /// All that is told of a submission behind a place.
  private static func course(
    _ world: OnboardingWorld, _ user: TestUser, after: String = "", upTo limit: Int = .max
  ) async throws -> [WatchSubmissionResponse] {
    try await world.client.watchSubmission(.init(after: after), options: OnboardingWorld.options(user)) { responses in
      var told: [WatchSubmissionResponse] = []
      for try await response in responses {
        told.append(response)
        if told.count == limit { break }
      }
      return told
    }
  }

  @Test(
    "O-38, O-40, JOB-M12: every event is told once and in its order, 40, 80, 100, and a stream that broke goes on behind its place"
  )
  func told() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let request = CompleteRequest(
        state: try OnboardingWorld.record(voices: 3), voiceConsent: .init(isGiven: true, statement: "v1"), wait: .init())
      let answer = try await world.client.complete(request, options: OnboardingWorld.options(ana))
      let live = try await Self.course(world, ana)
      let stages = live.compactMap(\.submission).map { "\($0.stage) \($0.done)/\($0.total) \($0.percent)" }
      #expect(
        stages == [
          "received 45/45 40", "storingAudio 0/3 40", "storingAudio 1/3 40", "storingAudio 2/3 40", "storingAudio 3/3 40",
          "transcribing 0/3 80", "transcribing 1/3 80", "transcribing 2/3 80", "transcribing 3/3 80", "extracting 0/1 80",
          "extracting 1/1 80", "cloning 0/1 80", "done 1/1 100",
        ], "\(stages)")
      #expect(live.compactMap(\.submission?.position) == (1...13).map { "\(answer.jobID):\($0)" })
      for place in [1, 6, 12] {
        let rest = try await Self.course(world, ana, after: live[place - 1].submission?.position ?? "")
        #expect(rest == Array(live.dropFirst(place)))
      }
      #expect(try await Self.course(world, ana, after: "\(answer.jobID):13").isEmpty)
      // A place in what was submitted before says nothing of this.
      #expect(try await Self.course(world, ana, after: "another:7") == live)
      let wrong = await #expect(throws: RPCError.self) { try await Self.course(world, ana, after: "nonsense") }
      #expect(wrong?.code == .invalidArgument)
      let ben = try await world.signIn("ben")
      let foreign = await #expect(throws: RPCError.self) {
        try await world.client.getSubmission(.init(submissionID: answer.jobID), options: ben.options)
      }
      #expect(foreign?.code == .notFound && foreign?.reason == "SUBMISSION_NOT_FOUND")
    }
  }

  @Test("O-40, JOB-M12: a stream that the end of a process broke goes on behind its place, at another process, without a gap")
  func restarted() async throws {
    let before = Mutex<[WatchSubmissionResponse]>([])
    try await OnboardingWorld.restarting(doing: [
      { world in
        let ana = try await world.signIn("ana")
        // Two of three are written down before the process ends.
        try await world.sandbox.control(
          .post, "hold", ["path": "/openai/v1/audio/transcriptions", "count": 1, "skip": 2])
        _ = try await world.client.complete(
          .init(state: try OnboardingWorld.record(voices: 3), wait: .init()), options: OnboardingWorld.options(ana))
        try await world.sandbox.awaitHeld(1)
        // received, storing 0 to 3, transcribing 0 to 2.
        let told = try await Self.course(world, ana, upTo: 8)
        #expect(told.last?.submission.map { "\($0.stage) \($0.done)/\($0.total)" } == "transcribing 2/3", "\(told)")
        before.withLock { $0 = told }
      },
      { world in
        try await world.sandbox.control(.delete, "hold")
        let ana = try await world.signIn("ana")
        let told = before.withLock { $0 }
        for place in [1, 5, told.count] {
          let rest = try await Self.course(world, ana, after: told[place - 1].submission?.position ?? "")
          let all = Array(told.prefix(place)) + rest
          let id = told[0].submission?.id ?? ""
          #expect(all.compactMap(\.submission?.position) == (1...13).map { "\(id):\($0)" }, "behind \(place)")
          #expect(Array(all.prefix(told.count)) == told, "what was told before is told the same")
          #expect(rest.last?.submission?.stage == .done)
        }
      },
    ])
  }

  @Test("O-30, O-35, JOB-M11: silence, too little and a failure are told apart, and none of them is text in an answer")
  func honest() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      var state = try OnboardingWorld.record(voices: 4)
      state.responses["2"]?.value = .spoken(try SpokenFiles.silence())
      state.responses["5"]?.value = .spoken(Array(try SpokenFiles.m4a(900, seconds: 1).prefix(40)))
      try await world.sandbox.fail(
        "/openai/v1/audio/transcriptions", ["status": 400, "code": "invalid_file", "count": 1])
      let answer = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
      #expect(answer.success && answer.submission?.stage == .done)
      let clips = try await world.voices.listVoiceClips(options: OnboardingWorld.options(ana)).clips
      let states = Dictionary(uniqueKeysWithValues: clips.map { ($0.stepID, $0.transcriptionState) })
      #expect(states[2] == .noSpeech)
      #expect(states.values.count { $0 == .failed } == 2, "\(states)")
      #expect(states.values.count { $0 == .done } == 1)
      for clip in clips where clip.transcriptionState != .done { #expect(clip.transcription == nil) }
      let markers: Int64? = try await world.value(
        "select count(*) from onboarding.answer where recording is not null and value is not null")
      #expect(markers == 0)
      #expect(answer.submission?.warnings.count { $0.reason == "transcription_failed" } == 2)
    }
  }
}
