import ElevenLabsProvider
import OpenID
import Outbound
import TestSandbox
import Testing

@Suite("ElevenLabs: what failures mean") struct ElevenLabsErrorTests {
  struct Case: Sendable {
    let status: Int
    let body: String
    let code: ProviderError.Code
    let reason: String?

    init(_ status: Int, _ body: String, _ code: ProviderError.Code, _ reason: String? = nil) {
      (self.status, self.body, self.code, self.reason) = (status, body, code, reason)
    }
  }

  static func client(_ script: ScriptedHTTP) -> ElevenLabsClient {
    ElevenLabsClient(.init(base: "https://voices.example/", key: "xi-planted"), over: script, unixSeconds: { 784_111_777 })
  }

  static let voice = NewVoice(
    name: "Ana", samples: [.init(filename: "a.m4a", mediaType: "audio/mp4", bytes: [1, 2, 3])], requestID: "r-1")

  @Test(
    "All three forms of an error are read, the server's own name counts before the status, and no message is kept",
    arguments: [
      Case(
        401, #"{"detail":{"type":"authentication_error","code":"invalid_api_key","message":"xi-planted"}}"#, .unauthorized,
        "invalid_api_key"),
      Case(401, #"{"detail":{"status":"quota_exceeded","message":"planted"}}"#, .quotaExceeded, "quota_exceeded"),
      Case(401, #"{"detail":"planted"}"#, .unauthorized),
      Case(400, #"{"detail":{"status":"voice_limit_reached"}}"#, .voiceLimitReached, "voice_limit_reached"),
      Case(
        400, #"{"detail":{"status":"can_not_use_instant_voice_cloning"}}"#, .cloningNotAllowed,
        "can_not_use_instant_voice_cloning"),
      Case(400, #"{"detail":{"code":"invalid_parameters"}}"#, .invalidRequest, "invalid_parameters"),
      Case(422, #"{"detail":[{"loc":["body","name"],"msg":"planted","type":"missing"}]}"#, .invalidRequest, "validation_error"),
      Case(429, #"{"detail":{"code":"rate_limit_exceeded"}}"#, .rateLimited, "rate_limit_exceeded"),
      Case(429, #"{"detail":{"code":"concurrent_limit_exceeded"}}"#, .concurrencyLimited, "concurrent_limit_exceeded"),
      Case(429, #"{"detail":{"status":"too_many_concurrent_requests"}}"#, .concurrencyLimited, "too_many_concurrent_requests"),
      Case(429, #"{"detail":{"status":"system_busy"}}"#, .overloaded, "system_busy"), Case(429, "", .rateLimited),
      Case(403, "{}", .forbidden), Case(404, #"{"detail":"Not Found"}"#, .refused), Case(404, "<html>", .refused),
      Case(413, "", .tooLarge), Case(500, "<html>", .serverFailed), Case(504, "", .serverFailed), Case(503, "", .overloaded),
      Case(418, "", .refused), Case(400, #"{"detail":{"code":"planted secret"}}"#, .invalidRequest),
    ])
  func forms(_ test: Case) async throws {
    let script = ScriptedHTTP(test.status, test.body, headers: ["Retry-After": "4"])
    let error = try #require(
      await #expect(throws: ProviderError.self) { try await Self.client(script).addVoice(Self.voice) })
    #expect(error.code == test.code && error.reason == test.reason && error.status == test.status)
    let passing: Set<ProviderError.Code> = [.rateLimited, .concurrencyLimited, .overloaded, .serverFailed]
    #expect(error.isPermanent == !passing.contains(error.code) && error.retryAfter == (error.isPermanent ? nil : .seconds(4)))
    #expect(error.mayHaveTakenEffect == (error.code == .serverFailed))
    #expect(!"\(error)".contains("planted") && script.requests.count == 1)
  }

  @Test(
    "What never had an answer says whether the voice may be there",
    arguments: [
      (.connectFailed, .unreachable, false), (.circuitOpen, .circuitOpen, false), (.timeout, .timeout, true),
      (.connectionLost, .connectionLost, true), (.tlsFailed, .unreachable, false), (.refusedURL, .misconfigured, false),
      (.responseTooLarge, .malformedAnswer, true), (.cancelled, .cancelled, true),
    ] as [(OutboundError.Code, ProviderError.Code, Bool)])
  func transport(cause: OutboundError.Code, code: ProviderError.Code, mayHaveTakenEffect: Bool) async throws {
    let script = ScriptedHTTP(.failure(OutboundError(cause, "POST")))
    let error = await #expect(throws: ProviderError.self) { try await Self.client(script).addVoice(Self.voice) }
    #expect(error?.code == code && error?.mayHaveTakenEffect == mayHaveTakenEffect && script.requests.count == 1)
  }

  @Test("A 404 of a path that is not there does not pass for a voice that is gone")
  func wrongPath() async throws {
    for body in [#"{"detail":"Not Found"}"#, "<html>not here</html>", ""] {
      let client = Self.client(ScriptedHTTP(404, body))
      let error = await #expect(throws: ProviderError.self) { try await client.deleteVoice("v") }
      #expect(error?.code == .refused)
    }
    let gone = Self.client(ScriptedHTTP(404, #"{"detail":{"status":"voice_does_not_exist"}}"#))
    #expect(try await !gone.deleteVoice("v"))
  }

  @Test("Making a voice is not repeated; questions and removals may be; the key goes with each and the id is escaped")
  func requests() async throws {
    let script = ScriptedHTTP(200, #"{"voice_id":"v1","requires_verification":true,"voices":[]}"#)
    let client = Self.client(script)
    #expect(try await client.addVoice(Self.voice) == client.addVoice(Self.voice))
    #expect(try await client.addVoice(Self.voice).requiresVerification)
    _ = try await client.deleteVoice("a/b?c")
    _ = try await client.voices()
    #expect(
      script.requests.map(\.url.description).suffix(2) == [
        "https://voices.example/v1/voices/a%2Fb%3Fc", "https://voices.example/v2/voices?page_size=100",
      ])
    for request in script.requests {
      #expect(request.headers["xi-api-key"] == "xi-planted")
      #expect(request.retry == (request.method == .post ? RetryPolicy.never : .interactive) && !request.mayBeRepeated)
    }
    #expect(script.requests[0].timeout == .seconds(120) && script.requests[0].headers["x-client-request-id"] == "r-1")
  }

  @Test(
    "Pages that do not end, or do not say how they go on, are no answer (OF-08)",
    arguments: [
      #"{"voices":[],"has_more":true,"next_page_token":"a"}"#, #"{"voices":[],"has_more":true}"#,
      #"{"voices":[],"has_more":true,"next_page_token":""}"#, #"{"has_more":false}"#, "[]",
    ])
  func endless(body: String) async throws {
    let script = ScriptedHTTP(200, body)
    let error = await #expect(throws: ProviderError.self) { try await Self.client(script).voices(labelled: "a", "b &?/ü") }
    #expect(error?.code == .malformedAnswer)
    #expect(
      script.requests.first?.url.description == "https://voices.example/v2/voices?page_size=100&search=b%20%26%3F%2F%C3%BC"
        && script.requests.count <= 2)
  }

  @Test("Samples are as many and as large as the settings say, and not one more")
  func limits() async throws {
    func voice(_ count: Int, _ size: Int) -> NewVoice {
      NewVoice(
        name: "Ana",
        samples: (0..<count).map {
          .init(filename: "\($0).wav", mediaType: "audio/wav", bytes: [UInt8](repeating: 1, count: size))
        },
        requestID: "r")
    }
    let cases: [(NewVoice, ProviderError.Code?)] = [
      (voice(25, 10), nil), (voice(26, 10), .tooLarge), (voice(2, 5 << 20), nil), (voice(1, 10 << 20 + 1), .tooLarge),
      (voice(0, 0), .invalidRequest), (voice(1, 0), .invalidRequest),
    ]
    for (voice, code) in cases {
      let script = ScriptedHTTP(200, #"{"voice_id":"v"}"#)
      if let code {
        let error = await #expect(throws: ProviderError.self) { try await Self.client(script).addVoice(voice) }
        #expect(error?.code == code && script.requests.isEmpty)
      } else {
        #expect(try await Self.client(script).addVoice(voice).id == "v")
      }
    }
  }

  @Test("An answer that names no voice may have made one", arguments: ["", "{}", #"{"voice_id":""}"#, "[]"])
  func unreadable(body: String) async throws {
    let error = await #expect(throws: ProviderError.self) {
      try await Self.client(ScriptedHTTP(200, body)).addVoice(Self.voice)
    }
    #expect(error?.code == .malformedAnswer && error?.mayHaveTakenEffect == true)
  }
}
