import ErrorReasons
import RPC
import RPCServer
import ServiceKit
import Testing

@Suite("Plain HTTP")
struct CORSTests {
  private static func request(_ method: String, origin: String? = nil, path: String = "/") -> HTTPServerRequest {
    HTTPServerRequest.forTest(method: method, path: path, headers: origin.map { [("origin", $0)] } ?? [])
  }

  private static func answer(
    _ origins: String, _ method: String = "GET", origin: String? = nil,
    _ handler: @escaping HTTPRoute.Handler = { _ in .text(200, "ok") }
  ) async throws -> HTTPServerResponse {
    let policy = try #require(CORSOrigins(configurationText: origins))
    let middleware: [any HTTPMiddleware] = [CORS(policy), HTTPErrors { _, _, _ in }]
    return try await middleware.wrapping(handler)(request(method, origin: origin))
  }

  @Test(
    "B-22: the origin that is allowed",
    arguments: [
      ("*", nil, "*"), ("*", "https://a.example", "*"), ("https://a.example", nil, "https://a.example"),
      ("https://a.example", "https://b.example", "https://a.example"),
      ("https://a.example,https://b.example", "https://b.example", "https://b.example"),
      ("https://a.example,https://b.example", "https://c.example", nil), ("https://a.example,https://b.example", nil, nil),
      ("https://a.example,https://b.example", "null", nil), ("none", "https://a.example", nil),
    ] as [(String, String?, String?)])
  func origins(_ allowed: String, _ origin: String?, _ answer: String?) async throws {
    let response = try await Self.answer(allowed, origin: origin)
    #expect(response.header("access-control-allow-origin") == answer)
    #expect(response.header("vary") == "Origin")
    #expect(response.header("access-control-allow-headers") == "authorization, content-type")
    #expect(response.header("access-control-allow-methods") == "GET, OPTIONS")
  }

  @Test("B-21: OPTIONS is answered with 204, and the handler is not asked")
  func options() async throws {
    let response = try await Self.answer("*", "OPTIONS") { _ in throw RPCError(.internal, "asked") }
    #expect(response.status == 204 && response.body.isEmpty && response.header("access-control-allow-origin") == "*")
  }

  @Test("B-22: errors carry the headers too, even those that nobody expected")
  func errors() async throws {
    struct Defect: Error {}
    let known = try await Self.answer("*") { _ in throw RPCError(.unauthenticated, "invalid id token") }
    #expect(known.status == 401 && known.text == "invalid id token" && known.header("access-control-allow-origin") == "*")
    let unknown = try await Self.answer("*") { _ in throw Defect() }
    #expect(unknown.status == 500 && unknown.text.hasPrefix("internal error, incident ") && unknown.header("vary") == "Origin")
  }

  @Test("B-21: a route for GET answers 405 to other methods, and to HEAD unless it allows it")
  func methods() async throws {
    let strict = HTTPRoute.get("/token") { _ in .text(200, "t") }
    let open = HTTPRoute.get("/healthz", allowsHead: true) { _ in .text(200, "ok") }
    for method in ["POST", "PUT", "DELETE", "PATCH", "HEAD", "TRACE", "get"] {
      let response = try await strict.handler(Self.request(method))
      #expect(response.status == 405 && response.text == "method not allowed" && response.header("allow") == "GET, OPTIONS")
    }
    #expect(try await strict.handler(Self.request("GET")).status == 200)
    #expect(try await open.handler(Self.request("HEAD")).status == 200)
  }

  @Test(
    "Each code has its status",
    arguments: [
      (StatusCode.invalidArgument, 400), (.outOfRange, 400), (.failedPrecondition, 400), (.unauthenticated, 401),
      (.permissionDenied, 403),
      (.notFound, 404), (.unimplemented, 405), (.aborted, 409), (.alreadyExists, 409), (.resourceExhausted, 429),
      (.cancelled, 499),
      (.internal, 500), (.unknown, 500), (.dataLoss, 500), (.unavailable, 503), (.deadlineExceeded, 504),
    ])
  func statuses(_ code: StatusCode, _ status: Int) {
    #expect(RPCError(code, "x").httpStatus == status)
  }

  @Test("Some reasons have a status of their own, where they come with their code")
  func reasons() {
    let error = { (code: StatusCode, reason: String) in
      RPCError(code, "x", details: [.errorInfo(reason: reason, domain: "parley", metadata: [:])]).httpStatus
    }
    #expect(error(.failedPrecondition, "SUBSCRIPTION_REQUIRED") == 402)
    #expect(error(.invalidArgument, "AUDIO_TOO_LARGE") == 413 && error(.invalidArgument, "TOO_LARGE_A_STEP") == 400)
    #expect(error(.failedPrecondition, "CAPABILITY_STOPPED") == 403 && error(.unavailable, "CAPABILITY_STOPPED") == 503)
    #expect(error(.unavailable, "ENTITLEMENT_UNAVAILABLE") == 500 && error(.unavailable, "KEYS_UNAVAILABLE") == 503)
  }

  @Test(
    "Retry-After is in whole seconds, rounded up, at least one",
    arguments: [
      (Duration.zero, "1"), (.milliseconds(1), "1"), (.seconds(1), "1"), (.milliseconds(1_001), "2"), (.seconds(60), "60"),
    ])
  func retryAfter(_ delay: Duration, _ text: String) {
    #expect(
      HTTPServerResponse.error(RPCError(.resourceExhausted, "x", details: [.retryInfo(delay)])).header("retry-after") == text)
  }

  @Test("An answer of 401 says what is asked for")
  func challenge() {
    #expect(HTTPServerResponse.error(RPCError(.unauthenticated, "x")).header("www-authenticate") == "Bearer")
    #expect(HTTPServerResponse.error(RPCError(.permissionDenied, "x")).header("www-authenticate") == nil)
  }

  @Test(
    "A sane request id is taken over, any other is replaced",
    arguments: [
      ("abc-1_2.3:4", true), ("a b", false), ("a\"b", false), ("", false), (String(repeating: "a", count: 64), true),
      (String(repeating: "a", count: 65), false),
    ])
  func requestIDs(_ id: String, _ isKept: Bool) async throws {
    let handler = [HTTPRequestID() as any HTTPMiddleware].wrapping { _ in .text(200, HTTPRequestID.current ?? "none") }
    let response = try await handler(.forTest(method: "GET", path: "/", headers: [("x-request-id", id)]))
    let answered = try #require(response.header("x-request-id"))
    #expect((answered == id) == isKept && response.text == answered)
  }
}

extension HTTPServerResponse {
  func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
  var text: String { String(decoding: body, as: UTF8.self) }
}
