import AuthDomain
import EventLoop
import JOSE
import JSON
import MessagesCore
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

@Suite("The first app's paths", .serialized)
struct FirstAppPathTests {
  private static let paths = [
    "/onboarding/v3/complete", "/onboarding/extract-data", "/transcribe/audio", "/voice/clone", "/api/settings/voice-reclone",
  ]

  @Test("O-14: what the first app asks before it pushes is answered while answers would be taken, to whoever asks")
  func connectivity() async throws {
    try await OnboardingWorld.with { world in
      for path in ["/", "/health", "/healthz", "/api/health", "/test"] {
        let answer = try await world.send(.get, path, as: nil)
        #expect(answer.status == 200, "\(path)")
        #expect(try JSONParser.parse(answer.body) == ["success": true, "status": "ok"], "\(path)")
        #expect(answer.headers["cache-control"] == "no-store" && answer.headers["x-content-type-options"] == "nosniff")
        #expect(try await world.send(.head, path, as: nil).status == 200, "\(path)")
        #expect(try await world.send(.post, path, [], as: nil).status == 405, "\(path)")
      }
      #expect(try await world.send(.get, "/api", as: nil).status == 404)
    }
  }

  @Test("Whatever is refused at the first app's paths, it is told in JSON with a code (BB-06)")
  func refusals() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let large = [UInt8](repeating: 0x20, count: 5 << 20)
      for (method, path, body, status, code) in [
        (HTTPMethod.get, "/onboarding/v3/complete", nil, 405, "METHOD_NOT_ALLOWED"),
        (.delete, "/health", nil, 405, "METHOD_NOT_ALLOWED"),
        (.post, "/api/identity/voice-clips/\(ana.userID)", [], 405, "METHOD_NOT_ALLOWED"),
        (.get, "/api", nil, 404, "PATH_NOT_FOUND"), (.post, "/onboarding/v4/complete", [], 404, "PATH_NOT_FOUND"),
        (.post, "/onboarding/extract-data", large, 413, "REQUEST_TOO_LARGE"),
        (.post, "/voice/clone", large, 413, "REQUEST_TOO_LARGE"),
        (.post, "/debug/onboarding/retry-transcription/\(ana.userID)", [], 403, "DEBUG_CLOSED"),
      ] as [(HTTPMethod, String, [UInt8]?, Int, String)] {
        let answer = try await world.send(method, path, body, as: ana)
        let told = try #require(try JSONParser.parse(answer.body).object, "\(method) \(path): \(answer.text ?? "")")
        #expect(answer.status == status && told["code"]?.string == code, "\(method) \(path): \(answer.status) \(told)")
        #expect(told["success"] == false && told["error"]?.string?.isEmpty == false)
        #expect(answer.headers["content-type"] == "application/json" && answer.headers["cache-control"] == "no-store")
        #expect((answer.headers["allow"] != nil) == (status == 405))
      }
    }
  }

  @Test("O-25, B-49: who has not paid is told by each path of the subscription and of the paywall, and of nothing else")
  func paywall() async throws {
    try await OnboardingWorld.with { world in
      let poor = try await world.parley.signIn("poor")
      for path in Self.paths {
        let refused = try await world.post(path, [], as: poor)
        #expect(refused.status == 402, "\(path)")
        #expect(
          refused.body == [
            "success": false, "error": "subscription required", "code": "SUBSCRIPTION_REQUIRED", "requiresSubscription": true,
            "redirectToPaywall": true,
          ], "\(path) \(refused.body)")
      }
      let stranger = try await world.send(.post, Self.paths[0], [], as: nil)
      #expect(stranger.status == 401 && stranger.headers["www-authenticate"] == "Bearer")
    }
  }

  @Test("O-26: other answers while the first are worked on are 409, with the submission that is in the way")
  func running() async throws {
    try await OnboardingWorld.with(["COMPLETE_WAIT": "0s"]) { world in
      let ana = try await world.signIn("ana")
      try await world.sandbox.control(.post, "hold", ["path": "/openai/v1/audio/transcriptions", "count": 1])
      let state = try OnboardingWorld.record(voices: 1)
      let first = try await world.post("/onboarding/v3/complete", try OnboardingWorld.body(state), as: ana)
      #expect(first.status == 200 && first.body["identityExtraction"]?["error"] == "in_progress", "\(first)")
      try await world.sandbox.awaitHeld(1)
      let other = try OnboardingWorld.body(try OnboardingWorld.record(voices: 0))
      let refused = try await world.post("/onboarding/v3/complete", other, as: ana)
      #expect(refused.status == 409 && refused.body["code"] == "SUBMISSION_RUNNING", "\(refused)")
      #expect(refused.body["success"] == false && refused.body["error"]?.string?.isEmpty == false)
      let same = try await world.post("/onboarding/v3/complete", try OnboardingWorld.body(state), as: ana)
      #expect(same.status == 200 && same.body["jobId"] == first.body["jobId"])
      try await world.sandbox.control(.delete, "hold")
    }
  }

  @Test("O-47: the answer of /onboarding/extract-data says success and fieldsExtracted also where the model refuses")
  func refusedByModel() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 0)), options: OnboardingWorld.options(ana))
      try await world.sandbox.control(.post, "openai/chat", ["refusal": "no", "count": 1])
      let refused = try await world.post("/onboarding/extract-data", [], as: ana)
      #expect(refused.status == 200 && refused.body["success"] == false && refused.body["error"] == "refused_by_model")
      // What was concluded before stays.
      #expect(refused.body["fieldsExtracted"]?.int64 == 60, "\(refused)")
      #expect(refused.body["extractedAt"]?.string?.hasSuffix("Z") == true, "\(refused)")
      let well = try await world.post("/onboarding/extract-data", [], as: ana)
      #expect(well.body["success"] == true && well.body["fieldsExtracted"]?.int64 == 60 && well.body["error"] == nil)
    }
  }

  @Test("O-48: a recording comes as a form or as the body, its length in seconds and the words go back, by both paths")
  func transcription() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let bytes = try SpokenFiles.m4a(3)
      for name in ["audio", "file"] {
        let form = OnboardingWorld.form(bytes, name: name)
        let written = try await world.post("/transcribe/audio", form.body, as: ana, form.headers)
        Self.expectWords(written)
        let known = OnboardingWorld.form(bytes, name: name, session: "abc")
        Self.expectWords(try await world.post("/onboarding/analyze-voice", known.body, as: nil, known.headers))
      }
      let silent = try await world.post("/transcribe/audio", try SpokenFiles.silence(), as: ana, ["Content-Type": "audio/mp4"])
      #expect(silent.body["success"] == false && silent.body["text"] == "" && silent.body["error"] == "no_speech")
      #expect(silent.body["duration"]?.number != nil, "\(silent)")
      let nothing = OnboardingWorld.form(nil, session: "abc")
      for (path, user) in [("/transcribe/audio", ana as TestUser?), ("/onboarding/analyze-voice", nil)] {
        let missing = try await world.post(path, nothing.body, as: user, nothing.headers)
        #expect(missing.status == 400 && missing.body["code"] == "INVALID_ARGUMENT", "\(path) \(missing)")
      }
      #expect(try await world.value("select count(*) from onboarding.recording", as: Int64.self) == 0)
    }
  }

  private static func expectWords(_ answer: (status: Int, body: JSONValue)) {
    #expect(answer.status == 200 && answer.body["success"] == true, "\(answer)")
    #expect(answer.body["text"]?.string?.hasPrefix("words of") == true && answer.body.object?.count == 3, "\(answer)")
    #expect(answer.body["duration"]?.number?.double.map { (6...8).contains($0) } == true, "\(answer)")
  }

  @Test("O-41, O-48: a recording above the limit of its path is 413, and nobody is sent to a method that takes less")
  func tooLarge() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let cases: [(path: String, bytes: Int, user: TestUser?, code: JSONValue)] = [
        ("/transcribe/audio", (25 << 20) + 2, ana, "AUDIO_TOO_LARGE"),
        ("/transcribe/audio", (26 << 20), ana, "REQUEST_TOO_LARGE"),
        ("/onboarding/analyze-voice?sessionId=abc", (10 << 20) + 2, nil, "AUDIO_TOO_LARGE"),
        ("/onboarding/analyze-voice?sessionId=abc", (11 << 20), nil, "REQUEST_TOO_LARGE"),
      ]
      for (path, bytes, user, code) in cases {
        let refused = try await world.post(path, SpokenFiles.tone(bytes: bytes), as: user, ["Content-Type": "audio/wav"])
        #expect(refused.status == 413 && refused.body["code"] == code, "\(path) \(bytes) \(refused)")
        #expect(refused.body["error"]?.string?.contains("UploadRecording") == false, "\(refused)")
      }
      let most = [UInt8](repeating: 0, count: (25 << 20) + 2_048)
      let rpc = await #expect(throws: RPCError.self) {
        try await world.client.transcribe(.init(audio: .init(most)), options: OnboardingWorld.options(ana))
      }
      guard case .errorInfo("REQUEST_TOO_LARGE", _, let hints)? = rpc?.details.first else {
        throw TimedOut("a reason: \(rpc as Any)")
      }
      #expect(Array(hints.keys) == ["limit"])
    }
  }

  @Test("A provider that refuses this service's account is told to people as one that is away, and to operators by a counter")
  func accountTroubles() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let bytes = try SpokenFiles.m4a(3)
      for status in [401, 403] {
        try await world.sandbox.fail("/openai/v1/audio/transcriptions", ["status": .number(JSONNumber(status)), "count": 1])
        let away = try await world.send(.post, "/transcribe/audio", bytes, as: ana, ["Content-Type": "audio/mp4"])
        let body = try JSONParser.parse(away.body)
        #expect(away.status == 503 && body["code"] == "PROVIDER_UNAVAILABLE", "\(status) \(body)")
        #expect(body["error"] == "Failed to transcribe audio" && away.headers["retry-after"] == "60", "\(body)")
      }
      try await world.sandbox.fail("/openai/v1/audio/transcriptions", ["status": 401, "count": 1])
      let rpc = await #expect(throws: RPCError.self) {
        try await world.client.transcribe(.init(audio: .init(bytes)), options: OnboardingWorld.options(ana))
      }
      #expect(rpc?.code == .unavailable && rpc?.reason == "PROVIDER_UNAVAILABLE")
    }
  }

  @Test("O-48: people without an account have six recordings a minute written down from one address, or what an operator sets")
  func addressLimit() async throws {
    let cases: [(changes: [String: String], most: Int, wait: String)] = [
      ([:], 6, "10"), (["RATE_LIMITS": "voice-analyses=1/2"], 2, "60"),
    ]
    for (changes, most, wait) in cases {
      try await OnboardingWorld.with(changes) { world in
        for number in 1...most {
          #expect(try await world.send(.post, "/onboarding/analyze-voice", [], as: nil).status == 400, "\(number)")
        }
        let refused = try await world.send(.post, "/onboarding/analyze-voice", [], as: nil)
        let body = try JSONParser.parse(refused.body)
        #expect(refused.status == 429 && body["code"] == "RATE_LIMITED_IP" && body["error"] == "rate limit (ip)", "\(body)")
        #expect(refused.headers["retry-after"] == wait && refused.headers["ratelimit-limit"] == "\(most)")
        #expect(refused.headers["ratelimit-remaining"] == "0" && refused.headers["ratelimit-reset"] != nil)
      }
    }
  }

  @Test("O-50: a repeated request for a voice with its key is answered as the first, and another one is told when it may come")
  func clone() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let agreed = VoiceConsent(isGiven: true, statement: "v1")
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 6), voiceConsent: agreed), options: options)
      let first = try await world.send(.post, "/voice/clone", [], as: ana, ["Idempotency-Key": "once"])
      let body = try JSONParser.parse(first.body)
      #expect(first.status == 202 && body["success"] == true && body["voiceId"]?.string?.isEmpty == false, "\(body)")
      try await eventually { try await world.voices.getVoice(options: options).voice?.state == .ready }
      // Its answer was lost: it comes again, by another path, and by RPC.
      for path in ["/voice/clone", "/api/settings/voice-reclone"] {
        let again = try await world.send(.post, path, [], as: ana, ["Idempotency-Key": "once"])
        #expect(again.status == 202 && again.body == first.body, "\(path) \(again.status)")
      }
      #expect(try await world.voices.cloneVoice(.init(idempotencyKey: "once"), options: options).voice?.state == .cloning)
      #expect(try await world.sandbox.effects("voices")["paid"]?.int64 == 2)
      let wrong = try await world.post("/voice/clone", [], as: ana, ["Idempotency-Key": String(repeating: "k", count: 65)])
      #expect(wrong.status == 400)
      // The voice may be made anew in February; the tests' clock is in January.
      let opening: Int64 = 1_801_440_000
      for key in [nil, "twice"] as [String?] {
        let headers: HTTPHeaders = key.map { ["Idempotency-Key": $0] } ?? [:]
        let more = try await world.send(.post, "/voice/clone", [], as: ana, headers)
        #expect(more.status == 429)
        #expect(try JSONParser.parse(more.body)["code"] == "CLONE_LIMIT_REACHED")
        #expect(more.headers["retry-after"] == "\(opening - world.parley.clock.unixSeconds)")
      }
      let rpc = await #expect(throws: RPCError.self) {
        try await world.voices.cloneVoice(.init(idempotencyKey: "thrice"), options: options)
      }
      guard case .errorInfo("CLONE_LIMIT_REACHED", _, let hints)? = rpc?.details.first else { throw TimedOut("a reason") }
      #expect(hints == ["next_clone_at": "2027-02-01T00:00:00Z"])
      let wait = try #require(rpc?.retryAfter)
      #expect(wait > .zero && wait <= .seconds(opening - world.parley.clock.unixSeconds))
    }
  }

  @Test("O-43, O-44: operators learn that there is nothing to try again, and not that it is being done already")
  func nothingToRetry() async throws {
    try await OnboardingWorld.with(OnboardingWorld.operated) { world in
      let ana = try await world.signIn("ana")
      let user = ana.userID.description
      let agreed = VoiceConsent(isGiven: true, statement: "v1")
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 6), voiceConsent: agreed), options: OnboardingWorld.options(ana))
      try await world.asOperator { admin in
        let options = OnboardingWorld.withoutSession()
        let ready = await #expect(throws: RPCError.self) {
          try await admin.retryVoiceClone(.init(userID: user), options: options)
        }
        #expect(ready?.code == .failedPrecondition && ready?.reason == "NOTHING_TO_RETRY", "\(ready as Any)")
        let reopened = try await admin.retryTranscription(.init(userID: user), options: options)
        #expect(reopened.recordings == 0)
        let understood = await #expect(throws: RPCError.self) {
          try await admin.retryIdentityExtraction(.init(userID: user), options: options)
        }
        #expect(understood?.reason == "NOTHING_TO_RETRY", "\(understood as Any)")
      }
      let path = "/debug/onboarding/retry-identity-extraction/\(user)"
      let debug = try await world.post(path, [], as: nil, ["X-Debug-Access": OnboardingWorld.debugToken])
      #expect(debug.status == 200 && debug.body["started"] == false, "\(debug)")
    }
  }
}
