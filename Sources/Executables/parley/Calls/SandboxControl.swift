import JSON
import Outbound

/// Whom the sandbox stands in for when it signs ID tokens.
enum SandboxProvider: String, CaseIterable {
  /// Sign in with Google.
  case google
  /// Sign in with Apple.
  case apple

  /// The control that makes their tokens.
  var path: String {
    switch self {
    case .google: "/sandbox/google/id-token"
    case .apple: "/sandbox/apple/identity-token"
    }
  }
}

/// The sandbox's controls, as `parley-sandbox serve --help` lists them.
struct SandboxControl: Sendable {
  /// What the sandbox answered instead of doing it.
  struct Refusal: Error, CustomStringConvertible {
    let description: String
  }

  /// `https://host:port`
  let url: String
  let outside: Outside

  /// An ID token of this provider as wished for.
  func idToken(_ wish: JSONObject, of provider: SandboxProvider = .google) async throws -> String {
    guard let token = try await send(.post, provider.path, wish)["token"]?.string else {
      throw Refusal(description: "the sandbox answered without a token")
    }
    return token
  }

  /// What Apple would post about an account.
  func appleNotification(_ wish: JSONObject) async throws -> [UInt8] {
    try await send(.post, "/sandbox/apple/notification", wish).encoded()
  }

  /// A new signing key; the old ones are taken back at once.
  func rotateKeys() async throws { _ = try await send(.post, "/sandbox/google/rotate-keys", ["withdraw": true]) }

  /// The life of access tokens from now on, in seconds. Returns the former one.
  func changeTokenLifetime(to seconds: Int) async throws -> Int {
    let former = try await send(.get, "/sandbox/google/settings")["tokenLifetime"]?.int64 ?? 3599
    _ = try await send(.post, "/sandbox/google/settings", ["tokenLifetime": .number(JSONNumber(seconds))])
    return Int(former)
  }

  /// Every request for `path` is answered with `status` from now on.
  func fail(_ path: String, status: Int) async throws {
    _ = try await send(.post, "/sandbox/faults", ["path": .string(path), "status": .number(JSONNumber(status))])
  }

  /// The next requests for `path` are answered with `status`, so many of them.
  func fail(_ path: String, status: Int, times: Int) async throws {
    _ = try await send(
      .post, "/sandbox/faults",
      ["path": .string(path), "status": .number(JSONNumber(status)), "count": .number(JSONNumber(times))])
  }

  /// RevenueCat knows a customer with a running subscription.
  func subscribe(_ customer: String) async throws {
    _ = try await send(
      .post, "/sandbox/revenuecat/customer",
      ["ids": [.string(customer)], "entitlements": ["pro": ["productId": "monthly", "expiresIn": 86_400]]])
  }

  /// The voices that the sandbox's ElevenLabs has.
  func voices() async throws -> [JSONValue] {
    try await send(.get, "/sandbox/elevenlabs/voices")["voices"]?.array ?? []
  }

  /// No path fails on command any more.
  func endFaults() async throws { _ = try await send(.delete, "/sandbox/faults") }

  /// How many requests for `path` there were.
  func requests(for path: String) async throws -> Int {
    Int(try await send(.get, "/sandbox/counters")["paths"]?[path]?["requests"]?.int64 ?? 0)
  }

  private func send(_ method: HTTPMethod, _ path: String, _ body: JSONObject? = nil) async throws -> JSONValue {
    var request = HTTPRequest(method, url + path)
    if let body {
      request.headers["Content-Type"] = "application/json"
      request.body = JSONValue.object(body).encoded()
    }
    let response = try await outside.http.send(request)
    guard response.isSuccess else {
      throw Refusal(description: "the sandbox answered \(response.status) to \(method) \(path): \(response.text ?? "")")
    }
    return try JSONParser.parse(response.body)
  }
}
