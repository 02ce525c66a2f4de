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

@Suite("What is understood", .serialized)
struct UnderstandingTests {
  @Test("O-31: sixty fields, each with the words and the model that it rests on; a correction wins, now and later")
  func provenance() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let none = await #expect(throws: RPCError.self) { try await world.identity.getIdentity(options: options) }
      #expect(none?.reason == "IDENTITY_NOT_FOUND")
      try await world.sandbox.control(
        .post, "openai/chat",
        [
          "document": [
            "core_struggle": ["value": "Gives up early", "quote": "the answer to step 9", "step": 9],
            "fear_identity": ["value": "A quitter", "quote": "nobody said this", "step": 9],
            "primary_excuse": .null, "shame_trigger": ["value": "", "quote": "", "step": 0],
          ]
        ])
      _ = try await world.client.complete(.init(state: try OnboardingWorld.record(voices: 1)), options: options)
      func field(_ name: String) async throws -> IdentityField? {
        try await world.identity.getIdentity(options: options).identity?.fields.first { $0.name == name }
      }
      let struggle = try #require(try await field("core_struggle"))
      #expect(struggle.source == .model && struggle.step == 9 && struggle.quote == "the answer to step 9")
      #expect(struggle.model == "gpt-4o-mini")
      // What nobody said is no evidence.
      #expect(try await field("fear_identity")?.quote == "")
      #expect(try await field("primary_excuse") == nil)
      #expect(try await field("shame_trigger") == nil)
      #expect(try await field("voice_commitment")?.source == .transcript)
      #expect(try await field("motivation_fear_intensity")?.value == "7")
      #expect(try await world.identity.getIdentity(options: options).identity?.name == "Ana 0")

      _ = try await world.identity.correctIdentity(.init(name: "core_struggle", value: "Sleeps too little"), options: options)
      let again = try await world.client.reExtract(options: options)
      #expect(again.success && again.fieldsExtracted == 60)
      let corrected = try #require(try await field("core_struggle"))
      #expect(corrected.source == .correction && corrected.value == "Sleeps too little")
      let back = try await world.identity.correctIdentity(.init(name: "core_struggle"), options: options)
      #expect(back.field?.source == .model)
      let wrong = await #expect(throws: RPCError.self) {
        try await world.identity.correctIdentity(.init(name: "nothing", value: "x"), options: options)
      }
      #expect(wrong?.reason == "UNKNOWN_FIELD")
    }
  }

  @Test("O-32, O-44, O-46: when the model fails the answers themselves are kept, and it is tried again by itself")
  func fallback() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await world.sandbox.control(.post, "openai/chat", ["refusal": "no", "count": 1])
      let answer = try await world.client.complete(.init(state: try OnboardingWorld.record(voices: 0)), options: options)
      #expect(answer.success && answer.identityExtraction?.success == false)
      #expect(answer.identityExtraction?.error == "refused_by_model" && answer.identityExtraction?.fieldsExtracted == 34)
      #expect(answer.submission?.warnings.map(\.reason) == ["extraction_failed"])
      // The first round comes after a minute.
      world.parley.clock.advance(by: .seconds(61))
      try await eventually {
        try await world.client.complete(
          .init(state: try OnboardingWorld.record(voices: 0)), options: OnboardingWorld.options(try await world.signIn("ana"))
        ).identityExtraction?.fieldsExtracted == 60
      }
    }
  }

  @Test("O-43, O-45: a transcription that failed is tried again from what is stored, when somebody with the debug token says so")
  func retried() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await world.sandbox.fail("/openai/v1/audio/transcriptions", ["status": 401, "count": 1])
      let answer = try await world.client.complete(.init(state: try OnboardingWorld.record(voices: 2)), options: options)
      #expect(answer.identityExtraction?.voiceTranscribed == 1)
      let path = "/debug/onboarding/retry-transcription/\(ana.userID)"
      #expect(try await world.post(path, [], as: nil, [:]).status == 403)
      #expect(try await world.post(path, [], as: nil, ["X-Debug-Access": "wrong"]).status == 403)
      let opened = try await world.post(path, [], as: nil, ["X-Debug-Access": OnboardingWorld.debugToken])
      #expect(opened.status == 200 && opened.body["recordings"]?.int64 == 1, "\(opened)")
      try await eventually {
        try await world.voices.listVoiceClips(options: options).clips.allSatisfy { $0.transcriptionState == .done }
      }
      #expect(try await world.sandbox.effects("transcriptions")["paid"]?.int64 == 2)
      let extraction = try await world.post(
        "/debug/onboarding/retry-identity-extraction/\(ana.userID)", [], as: nil, ["X-Debug-Access": OnboardingWorld.debugToken])
      #expect(extraction.status == 200)
      let nobody = try await world.post(
        "/debug/onboarding/retry-transcription/00000000-0000-7000-8000-000000000000", [], as: nil,
        ["X-Debug-Access": OnboardingWorld.debugToken])
      #expect(nobody.status == 404)
    }
  }

  @Test("O-44, O-46: a recording that a missing tool could not read is tried again by itself, any other by operators")
  func toolMissing() async throws {
    let folder = try ScratchFolder()
    let tool = folder.path + "/ffmpeg"
    try await OnboardingWorld.with(["AUDIO_FFMPEG": tool]) { world in
      let ana = try await world.signIn("ana")
      let state = try OnboardingWorld.record(voices: 1)
      _ = try await world.client.complete(.init(state: state, wait: .init()), options: OnboardingWorld.options(ana))
      @Sendable func recording() async throws -> String? {
        try await world.value("select state || ' ' || reason from onboarding.recording")
      }
      /// Waits, and goes through the pauses of jobs at once.
      @Sendable func reach(_ condition: @escaping @Sendable () async throws -> Bool) async throws {
        // Eight attempts, each with programs that are started.
        try await eventually(atMost: .seconds(120)) {
          if try await condition() { return true }
          let runs: Int64? = try await world.value("select count(*) from onboarding.job where holder is not null")
          if runs == 0 { world.parley.clock.advance(by: .seconds(5)) }
          return false
        }
      }
      try await reach { try await world.value("select done_at is not null from onboarding.submission", as: Bool.self) == true }
      #expect(try await recording() == "failed audio_tool_missing")
      try FileManager.default.createSymbolicLink(atPath: tool, withDestinationPath: "/usr/bin/ffmpeg")
      world.parley.clock.advance(by: .seconds(61))
      try await reach { try await recording() == "done " }
      // What nobody works on, though it waits.
      try await world.parley.withDatabase {
        _ = try await $0.execute("update onboarding.recording set state = 'pending', transcript = null")
      }
      let path = "/debug/onboarding/retry-transcription/\(ana.userID)"
      let opened = try await world.post(path, [], as: nil, ["X-Debug-Access": OnboardingWorld.debugToken])
      #expect(opened.body["recordings"]?.int64 == 1, "\(opened)")
      try await reach { try await recording() == "done " }
      // What was taken for damaged is tried again by an operator alone.
      try await world.parley.withDatabase {
        _ = try await $0.execute(
          "update onboarding.recording set state = 'failed', transcript = null, reason = 'audio_unreadable'")
      }
      let damaged = try await world.post(path, [], as: nil, ["X-Debug-Access": OnboardingWorld.debugToken])
      #expect(damaged.status == 200 && damaged.body["recordings"]?.int64 == 1, "\(damaged)")
      try await reach { try await recording() == "done " }
    }
    withExtendedLifetime(folder) {}
  }

  @Test("O-48: a recording that a provider takes, its form included, is transcribed by RPC and HTTP, and a larger one refused")
  func large() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let some = SpokenFiles.tone(bytes: 12 << 20)
      let posted = try await world.post("/transcribe/audio", some, as: ana, ["Content-Type": "audio/wav"])
      #expect(posted.status == 200 && posted.body["success"]?.bool == true, "\(posted)")
      let most = SpokenFiles.tone(bytes: (25 << 20) - (4 << 10))
      let words = try await world.client.transcribe(.init(audio: .init(most), contentType: "audio/wav"), options: options)
      #expect(words.success && words.text.hasPrefix("words of"), "\(words)")
      let more = await #expect(throws: RPCError.self) {
        try await world.client.transcribe(.init(audio: .init(most + [0]), contentType: "audio/wav"), options: options)
      }
      #expect(more?.code == .invalidArgument && more?.reason == "AUDIO_TOO_LARGE", "\(more as Any)")
    }
  }

  @Test("O-47, O-48: the first app's paths and the RPCs behind them have one limit together, as an operator has set it")
  func limits() async throws {
    try await OnboardingWorld.with(["RATE_LIMITS": "extractions=1/2,transcriptions=1/2,complete=1/2"]) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let state = try OnboardingWorld.record(voices: 0)
      let body = try OnboardingWorld.body(state)
      let bytes = try SpokenFiles.silence()
      _ = try await world.client.complete(.init(state: state), options: options)
      _ = try await world.client.reExtract(options: options)
      _ = try await world.client.transcribe(.init(audio: .init(bytes)), options: options)
      let paths = [("/onboarding/v3/complete", body), ("/onboarding/extract-data", []), ("/transcribe/audio", bytes)]
      func type(_ path: String) -> HTTPHeaders { ["Content-Type": path.hasSuffix("audio") ? "audio/mp4" : "application/json"] }
      for (path, body) in paths { #expect(try await world.post(path, body, as: ana, type(path)).status == 200, "\(path)") }
      for (path, body) in paths {
        var request = HTTPRequest(.post, world.address + path, headers: type(path), body: body)
        request.headers.add("Authorization", "Bearer \(ana.accessToken)")
        request.timeout = .seconds(100)
        let refused = try await world.http.send(request)
        #expect(refused.status == 429, "\(path) \(refused.status)")
        #expect(refused.headers["retry-after"].flatMap { Int($0) }.map { (1...60).contains($0) } == true, "\(path)")
        let text = try JSONParser.parse(refused.body)
        #expect(text["code"]?.string == "RATE_LIMITED_USER" && text["success"]?.bool == false, "\(path)")
      }
      let rpc = await #expect(throws: RPCError.self) { try await world.client.reExtract(options: options) }
      #expect(rpc?.code == .resourceExhausted)
      // Somebody else's are another's.
      let ben = try await world.signIn("ben")
      let audio = "/transcribe/audio"
      #expect(try await world.post(audio, bytes, as: ben, type(audio)).status == 200)
      world.parley.clock.advance(by: .seconds(60))
      #expect(try await world.post(audio, bytes, as: try await world.signIn("ana"), type(audio)).status == 200)
    }
  }

  @Test("O-47, O-48: stored answers are understood once more, and a recording is written down without being kept")
  func onDemand() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let missing = try await world.post("/onboarding/extract-data", [], as: ana)
      #expect(missing.status == 404)
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 0)), options: OnboardingWorld.options(ana))
      let again = try await world.post("/onboarding/extract-data", [], as: ana)
      #expect(again.status == 200 && again.body["success"]?.bool == true && again.body["extractedAt"]?.string != nil)

      let bytes = try SpokenFiles.m4a(7)
      let words = try await world.post("/transcribe/audio", bytes, as: ana, ["Content-Type": "audio/mp4"])
      #expect(words.status == 200 && words.body["success"]?.bool == true, "\(words)")
      let silent = try await world.post("/transcribe/audio", try SpokenFiles.silence(), as: ana, ["Content-Type": "audio/mp4"])
      #expect(silent.body["success"]?.bool == false && silent.body["error"]?.string == "no_speech")
      #expect(try await world.post("/transcribe/audio", [], as: ana, ["Content-Type": "audio/mp4"]).status == 400)
      #expect(try await world.post("/transcribe/audio", bytes, as: nil, ["Content-Type": "audio/mp4"]).status == 401)
      let before = try await world.post(
        "/onboarding/analyze-voice?sessionId=abc", bytes, as: nil, ["Content-Type": "audio/mp4"])
      #expect(before.status == 200 && before.body["text"]?.string?.hasPrefix("words of") == true, "\(before)")
      #expect(
        try await world.post("/onboarding/analyze-voice", bytes, as: nil, ["Content-Type": "audio/mp4"]).status == 400)
      #expect(try await world.value("select count(*) from onboarding.recording", as: Int64.self) == 0)
    }
  }
}
