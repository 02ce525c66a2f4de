import OpenID
import Outbound
import TestSandbox
import Testing

@testable import OpenAIProvider

@Suite("OpenAI: what failures mean") struct OpenAIErrorTests {
  struct Case: Sendable {
    let status: Int
    let body: String
    let code: ProviderError.Code
    let reason: String?

    init(_ status: Int, _ body: String, _ code: ProviderError.Code, _ reason: String? = nil) {
      (self.status, self.body, self.code, self.reason) = (status, body, code, reason)
    }
  }

  private static func error(
    _ http: ScriptedHTTP, _ settings: OpenAISettings = .init(base: "https://ai.example/v1", key: "sk-planted")
  )
    async -> ProviderError?
  {
    let client = OpenAIClient(settings, over: http, unixSeconds: { 784_111_777 })
    return await #expect(throws: ProviderError.self) {
      try await client.chat(ChatRequest(model: "gpt-4o", messages: [.init(.user, "my secret")], requestID: "r1"))
    }
  }

  @Test(
    "A status and the server's own name say what it is, and nothing of its message is kept",
    arguments: [
      Case(
        400, #"{"error":{"code":"context_length_exceeded","type":"invalid_request_error"}}"#, .contextTooLong,
        "context_length_exceeded"),
      Case(400, #"{"error":{"code":null,"type":"invalid_request_error"}}"#, .invalidRequest, "invalid_request_error"),
      Case(400, #"{"error":"a text of whisper.cpp"}"#, .invalidRequest), Case(422, "<html>", .invalidRequest),
      Case(401, #"{"error":{"code":"invalid_api_key","message":"sk-planted"}}"#, .unauthorized, "invalid_api_key"),
      Case(402, "", .quotaExceeded), Case(403, "{}", .forbidden),
      Case(404, #"{"error":{"code":"model_not_found"}}"#, .modelNotFound, "model_not_found"),
      Case(408, "", .conflict), Case(409, "", .conflict), Case(413, "", .tooLarge), Case(418, "", .refused),
      Case(429, #"{"error":{"code":"rate_limit_exceeded"}}"#, .rateLimited, "rate_limit_exceeded"),
      Case(429, #"{"error":{"code":"insufficient_quota"}}"#, .quotaExceeded, "insufficient_quota"),
      Case(429, #"{"error":{"code":null,"type":"insufficient_quota"}}"#, .quotaExceeded, "insufficient_quota"),
      Case(429, "", .rateLimited), Case(500, "", .serverFailed), Case(502, "", .serverFailed), Case(504, "", .serverFailed),
      Case(503, #"{"error":{"code":503,"type":"unavailable_error"}}"#, .overloaded, "unavailable_error"),
      Case(529, "", .overloaded),
      Case(400, #"{"error":{"code":"my secret was: sk-planted"}}"#, .invalidRequest), Case(302, "", .refused),
      Case(400, #"{"error":{"code":"\#(String(repeating: "a", count: 65))"}}"#, .invalidRequest),
    ])
  func statuses(_ test: Case) async throws {
    let http = ScriptedHTTP(test.status, test.body, headers: ["x-request-id": "req_1"])
    let error = try #require(await Self.error(http))
    #expect(error.code == test.code && error.reason == test.reason && error.status == test.status && error.requestID == "req_1")
    let permanent: Set<ProviderError.Code> = [
      .contextTooLong, .invalidRequest, .unauthorized, .quotaExceeded, .forbidden, .modelNotFound, .tooLarge, .refused,
    ]
    #expect(error.isPermanent == permanent.contains(error.code))
    #expect(error.mayHaveTakenEffect == [500, 502, 504].contains(test.status))
    #expect(!"\(error)".contains("secret") && !"\(error)".contains("planted"))
    #expect(http.requests.count == 1, "nothing is sent twice")
  }

  @Test(
    "What never had an answer says whether the work may have been done",
    arguments: [
      (.refusedURL, .misconfigured, true, false), (.invalidRequest, .misconfigured, true, false),
      (.circuitOpen, .circuitOpen, false, false), (.connectFailed, .unreachable, false, false),
      (.tlsFailed, .unreachable, false, false), (.timeout, .timeout, false, true),
      (.connectionLost, .connectionLost, false, true),
      (.responseTooLarge, .malformedAnswer, false, true), (.malformedResponse, .malformedAnswer, false, true),
      (.transportFailed, .connectionLost, false, true), (.cancelled, .cancelled, false, true),
    ] as [(OutboundError.Code, ProviderError.Code, Bool, Bool)])
  func transport(cause: OutboundError.Code, code: ProviderError.Code, isPermanent: Bool, mayHaveTakenEffect: Bool) async throws {
    let http = ScriptedHTTP(.failure(OutboundError(cause, "POST", retryAfter: .seconds(7))))
    let error = try #require(await Self.error(http))
    #expect(error.code == code && error.isPermanent == isPermanent && error.mayHaveTakenEffect == mayHaveTakenEffect)
    #expect(error.retryAfter == .seconds(7) && http.requests.count == 1)
  }

  @Test(
    "A wait is taken from the exactest field that tells one",
    arguments: [
      (["retry-after-ms": "1500", "retry-after": "9"], .milliseconds(1500)), (["retry-after": "9"], .seconds(9)),
      (["retry-after": "Sun, 06 Nov 1994 08:49:47 GMT"], .seconds(10)),
      (["retry-after-ms": "soon", "retry-after": "2"], .seconds(2)),
      (["retry-after-ms": "-1", "x-ratelimit-reset-requests": "6m0s"], .seconds(360)),
      (["x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"], .seconds(360)),
      (
        [
          "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-tokens": "500",
          "x-ratelimit-reset-tokens": "6m0s",
        ], .seconds(1)
      ), (["x-ratelimit-reset-tokens": "later"], nil), ([:], nil),
    ] as [(HTTPHeaders, Duration?)])
  func waits(headers: HTTPHeaders, wait: Duration?) async throws {
    #expect(try #require(await Self.error(ScriptedHTTP(429, "{}", headers: headers))).retryAfter == wait)
    #expect(try #require(await Self.error(ScriptedHTTP(503, "{}", headers: headers))).retryAfter == wait)
    #expect(try #require(await Self.error(ScriptedHTTP(401, "{}", headers: headers))).retryAfter == nil, "waiting brings no key")
  }

  @Test(
    "Where the server says whether to come back, that counts and not the status",
    arguments: [
      (400, "true", false), (404, "true", false), (409, "false", true), (429, "false", true), (500, "false", true),
      (503, "true", false), (500, "perhaps", false), (401, "", true),
    ])
  func told(status: Int, word: String, isPermanent: Bool) async throws {
    let error = try #require(await Self.error(ScriptedHTTP(status, "{}", headers: ["x-should-retry": word, "retry-after": "7"])))
    #expect(error.isPermanent == isPermanent && error.retryAfter == (isPermanent ? nil : .seconds(7)))
  }

  @Test(
    "A reset is a number with a unit, or several from large to small",
    arguments: [
      ("250ms", .milliseconds(250)), ("1s", .seconds(1)), ("7.66s", .milliseconds(7660)), ("6m0s", .seconds(360)),
      ("1h2m3s", .seconds(3723)), ("1d", .seconds(86_400)), ("1m30.5s", .milliseconds(90_500)), ("20µs", .microseconds(20)),
      ("0s", .zero), ("", nil), ("6", nil), ("s", nil), ("1s1m", nil), ("1s2s", nil), ("1x", nil), ("-1s", nil), ("1..2s", nil),
      ("1e3s", nil), ("99999999999999999999d", nil), (" 1s", nil),
    ] as [(String, Duration?)])
  func resets(text: String, duration: Duration?) { #expect(RateLimitReset.duration(text) == duration) }

  @Test(
    "An answer with status 200 that is none is paid for, and may be asked for again",
    arguments: ["", "<html>", "{}", #"{"choices":[]}"#, #"{"choices":[{"message":null}]}"#])
  func unreadable(body: String) async throws {
    let error = try #require(await Self.error(ScriptedHTTP(200, body)))
    #expect(error.code == .malformedAnswer && error.mayHaveTakenEffect && !error.isPermanent && error.status == 200)
    let client = OpenAIClient(.init(base: "https://ai.example/v1", key: ""), over: ScriptedHTTP(200, body))
    let other = await #expect(throws: ProviderError.self) {
      try await client.transcribe(.init(model: "m", audio: [1], filename: "a.wav", mediaType: "audio/wav", requestID: "r"))
    }
    #expect(other?.code == .malformedAnswer)
  }
}
