import EventLoop
import Foundation
import JSON
import MessagesCore
import OnboardingAPI
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

/// What the first back end did wrong, each defect under its number in the list of them.
@Suite("Defects of the original back end", .serialized)
struct OriginalDefectTests {
  private static let transcriptions = "/openai/v1/audio/transcriptions"

  private static let moment = "2026-01-05T10:00:00.000Z"

  @Test("Original defect 10: a recording goes out as what it is, M4A, WAV, MP3 or WebM, to a provider that looks into it")
  func kinds() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let state = OnboardingState(responses: [
        "2": .spoken(try SpokenFiles.m4a(1), as: "audio/m4a", at: Self.moment),
        "5": .spoken(try SpokenFiles.other(2, as: "wav"), as: "audio/wav", at: Self.moment),
        "7": .spoken(try SpokenFiles.other(3, as: "mp3"), as: "audio/mpeg", at: Self.moment),
        "10": .spoken(try SpokenFiles.other(4, as: "webm"), as: "audio/webm", at: Self.moment),
      ])
      let answer = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
      #expect(answer.identityExtraction?.voiceTranscribed == 4, "\(answer)")
      #expect(answer.submission?.warnings.contains { $0.reason == "transcription_failed" } == false, "\(answer)")
      #expect(try await world.sandbox.requests(Self.transcriptions) == 4)
      for (bytes, type) in [(try SpokenFiles.other(5, as: "mp3"), "audio/mpeg"), (try SpokenFiles.m4a(6), "")] {
        let words = try await world.client.transcribe(
          .init(audio: .init(bytes), contentType: type), options: OnboardingWorld.options(ana))
        #expect(words.success && words.text.hasPrefix("words of"), "\(words)")
      }
    }
  }

  @Test("Original defect 10: a recording that cannot be written down has no words, and nothing is understood from its failure")
  func failed() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await world.sandbox.fail(Self.transcriptions, ["status": 400])
      let state = OnboardingState(responses: ["2": .spoken(try SpokenFiles.m4a(1), as: "audio/m4a", at: Self.moment)])
      let answer = try await world.client.complete(.init(state: state), options: options)
      #expect(answer.identityExtraction?.voiceTranscribed == 0, "\(answer)")
      #expect(answer.submission?.warnings.map(\.reason).contains("transcription_failed") == true, "\(answer)")
      #expect(
        try await world.value(
          "select count(*) from onboarding.recording where transcript is null and state = 'failed'", as: Int64.self) == 1)
      #expect(
        try await world.value(
          """
          select (select count(*) from onboarding.answer a where a::text ilike '%transcription%failed%')
            + (select count(*) from onboarding.identity_field f where f::text ilike '%transcription%failed%')
          """, as: Int64.self) == 0)
      let clips = try await world.voices.listVoiceClips(options: options).clips
      #expect(clips.count == 1 && clips[0].transcriptionState == .failed, "\(clips)")
    }
  }

  @Test("Original defect 11: nobody's onboarding is complete, or on its way, whose answers were not stored")
  func order() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await world.refuse("insert", on: "answer")
      let request = CompleteRequest(state: try OnboardingWorld.record(voices: 0), idempotencyKey: "once")
      let error = await #expect(throws: RPCError.self) { try await world.client.complete(request, options: options) }
      #expect(error?.code == .internal, "\(error as Any)")
      #expect(
        try await world.value(
          "select (select count(*) from onboarding.submission) + (select count(*) from onboarding.job)", as: Int64.self) == 0)
      let progress = try await world.client.getProgress(options: options)
      #expect(progress.state?.isCompleted != true && progress.state?.responses.isEmpty != false, "\(progress)")
      // The same request completes it once they can be stored.
      try await world.allow(on: "answer")
      let answer = try await world.client.complete(request, options: options)
      #expect(answer.submission?.stage == .done, "\(answer)")
      #expect(try await world.client.getProgress(options: options).state?.responses.isEmpty == false)
    }
  }

  @Test("B-51: the debug paths that open in development with its token are closed where there is none (AF-13)")
  func debugPathsOfDevelopment() async throws {
    for (token, status) in [(OnboardingWorld.debugToken, 200), ("", 403)] {
      try await OnboardingWorld.with(["DEBUG_TOKEN": token]) { world in
        let ana = try await world.signIn("ana")
        _ = try await world.post(
          "/onboarding/v3/complete", try OnboardingWorld.body(try OnboardingWorld.record(voices: 0)), as: ana)
        for path in ["retry-transcription", "retry-identity-extraction"] {
          let answer = try await world.post(
            "/debug/onboarding/\(path)/\(ana.userID)", [], as: nil, ["X-Debug-Access": OnboardingWorld.debugToken])
          #expect(answer.status == status, "\(path) \(answer)")
          if status == 403 { #expect(answer.body["code"] == "DEBUG_CLOSED") }
        }
      }
    }
  }

  @Test("Original defect 13: without a debug token the debug paths are closed to everybody, whatever they show")
  func debugPaths() async throws {
    try await OnboardingWorld.with(["DEBUG_TOKEN": ""]) { world in
      let ana = try await world.signIn("ana")
      for path in ["retry-transcription", "retry-identity-extraction"] {
        for shown in [nil, "", "undefined", OnboardingWorld.debugToken] {
          for user in [nil, ana] {
            var headers: HTTPHeaders = ["Content-Type": "application/json"]
            headers["X-Debug-Access"] = shown
            let answer = try await world.post("/debug/onboarding/\(path)/\(ana.userID)", [], as: user, headers)
            #expect(answer.status == 403, "\(path) \(shown ?? "nothing") \(answer)")
          }
        }
      }
    }
  }

  @Test(
    "Original defect 13: who has not paid is refused, and no setting says that the environment is one where that does not matter")
  func unpaid() async throws {
    let settings = OnboardingAPI.OnboardingService.configuration.map { $0.name.lowercased() }
    for word in ["environment", "production", "development", "subscri", "paywall", "paid"] {
      #expect(settings.filter { $0.contains(word) }.isEmpty, "\(word)")
    }
    try await OnboardingWorld.with { world in
      let ben = try await world.parley.signIn("ben")
      let state = try OnboardingWorld.record(voices: 0)
      let error = await #expect(throws: RPCError.self) {
        try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ben))
      }
      #expect(error?.code == .failedPrecondition && error?.reason == "SUBSCRIPTION_REQUIRED", "\(error as Any)")
      let body = try OnboardingWorld.body(state)
      for (path, body) in [("/onboarding/v3/complete", body), ("/onboarding/extract-data", []), ("/transcribe/audio", [1])] {
        let refused = try await world.post(path, body, as: ben)
        #expect([402, 403].contains(refused.status), "\(path) \(refused)")
        #expect(try await world.post(path, body, as: nil).status == 401, "\(path)")
      }
      #expect(try await world.value("select count(*) from onboarding.answer", as: Int64.self) == 0)
    }
  }

  @Test("Original defect 13: the log of a whole push has no names, no words, no answers, no tokens and no keys, at any level")
  func silence() async throws {
    let log = CapturedLog()
    try await OnboardingWorld.with(log: log.logger) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let state = try OnboardingWorld.record(voices: 3, variant: 71)
      // Providers that refuse and break have the most to be logged.
      try await world.sandbox.fail(Self.transcriptions, ["status": 401, "count": 1])
      try await world.sandbox.fail("/elevenlabs/v1/voices/add", ["status": 422, "count": 1])
      _ = try await world.client.saveAnswer(.init(step: 3, answer: state.responses["3"]), options: options)
      _ = try await world.voices.giveVoiceConsent(.init(statement: "v1"), options: options)
      _ = try await world.client.complete(.init(state: state), options: options)
      let posted = try OnboardingWorld.body(state)
      #expect(try await world.post("/onboarding/v3/complete", posted, as: ana).status == 200)
      #expect(try await world.post("/onboarding/v3/complete", Array(#"{"state": "Ana 71"#.utf8), as: ana).status == 400)
      _ = try await world.post(
        "/debug/onboarding/retry-transcription/\(ana.userID)", [], as: nil, ["X-Debug-Access": OnboardingWorld.debugToken])
      let lines = log.all
      #expect(lines.contains { $0.contains("path=/onboarding/v3/complete") }, "\(lines.count) lines")
      #expect(lines.contains { $0.contains("unauthorized") }, "\(lines.count) lines")
      let secrets = [
        "Ana 71", "words of", "answer to step", "answer 71", "base64,", ana.accessToken, ana.tokens.refreshToken, "sk-sandbox",
        "xi-sandbox", OnboardingWorld.debugToken,
      ]
      for secret in secrets {
        let found = lines.filter { $0.contains(secret) }
        #expect(!secret.isEmpty && found.isEmpty, "\(secret): \(found.prefix(2))")
      }
    }
  }
}
