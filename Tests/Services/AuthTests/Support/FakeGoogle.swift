import EventLoop
import GoogleProvider
import JOSE
import JSON
import OpenID
import Outbound
import PostgreSQL
import Synchronization
import TestSupport
import Values

/// Google as far as the broker knows it: keys that sign ID tokens, and an endpoint that gives tokens for assertions.
final class FakeGoogle: HTTPSending {
  /// What is wrong with an endpoint.
  enum Fault: Sendable, Equatable {
    case none
    case status(Int, String = "{}")
    /// No answer before ``release()``.
    case hang
  }

  struct State {
    var keys = [FakeGoogle.key]
    var keySetFault = Fault.none
    var tokenFault = Fault.none
    var cacheControl = "public, max-age=3600"
    var age = "0"
    var expiresIn: JSONValue? = 3600
    var keyFetches = 0
    var mints = 0
    var assertions: [String] = []
    /// What the endpoint for impersonation was asked, and how its answers differ from a good one.
    var impersonations: [Impersonated] = []
    var impersonationFault = Fault.none
    var impersonationChanges: [(String, JSONValue?)] = []
    /// Seconds since 1970, for the ends of impersonated tokens.
    var wall: @Sendable () -> Int64 = { FakeGoogle.now }
    var metadataFlavor: String? = "Google"
    /// The account that the machine runs as.
    var machineAccount = FakeGoogle.ownAccount
    /// Every request but those for keys: method, path with query, and the headers that matter.
    var requests: [Asked] = []
    var subjectDocument = #"{"token":"planted.subject.token"}"#
    var held: [CheckedContinuation<Void, Never>] = []
    var hung = 0
  }

  /// A request for an impersonated token.
  struct Impersonated: Sendable {
    let account: String
    let bearer: String
    let body: JSONObject
  }

  /// A request.
  struct Asked: Sendable {
    let path: String
    let headers: HTTPHeaders
    let body: String
    let isLinkLocal: Bool
  }

  static let ownAccount = "broker@p.iam.gserviceaccount.com"
  static let now: Int64 = 1_800_000_000
  static let clientID = "web.apps.googleusercontent.com"
  static let key = makeKey("google-1")
  static let nextKey = makeKey("google-2")
  static let impostor = makeKey("google-1")
  static let account = makeKey("account-1")
  static let impersonatedPrefix = "ya29.planted-impersonated-"
  static let tokenPrefix = "ya29.planted-cloud-token-"

  let state = Mutex(State())
  let hanging = Signal()

  private static func makeKey(_ id: String) -> SigningKey {
    do { return try SigningKey.generate(.rs256, keyID: id) } catch { preconditionFailure("no test key: \(error)") }
  }

  /// The key file of the broker's service account.
  static func serviceAccount(tokenURI: String = "https://oauth2.example/token") throws -> String {
    let pem = try account.privatePEM()
    let members: JSONObject = [
      "type": "service_account", "project_id": "p", "private_key_id": "account-1", "private_key": .string(pem),
      "client_email": "broker@p.iam.gserviceaccount.com", "token_uri": .string(tokenURI),
    ]
    return JSONValue.object(members).description
  }

  // MARK: ID tokens

  static func claims(_ user: String = "ana", at now: Int64 = now, _ changes: [(String, JSONValue?)] = []) -> JSONObject {
    var claims: JSONObject = [
      "iss": "https://accounts.google.com", "aud": .string(clientID), "sub": .string(user),
      "email": .string("\(user)@example.org"),
      "email_verified": true, "name": "Ana", "hd": "example.org", "iat": .number(JSONNumber(now)),
      "exp": .number(JSONNumber(now + 3600)),
    ]
    for (name, value) in changes { claims[name] = value }
    return claims
  }

  static func token(
    _ user: String = "ana", at now: Int64 = now, key: SigningKey = key, header: JSONObject = [:],
    changes: [(String, JSONValue?)] = []
  ) -> String {
    (try? key.sign(header: header, claims: claims(user, at: now, changes))) ?? ""
  }

  // MARK: Answers

  var keyFetches: Int { state.withLock { $0.keyFetches } }
  var mints: Int { state.withLock { $0.mints } }
  var sentAssertions: [String] { state.withLock { $0.assertions } }

  func set(_ change: @Sendable (inout State) -> Void) { state.withLock { change(&$0) } }

  /// The fault to act out for this path.
  func fault(_ path: String) -> Fault {
    state.withLock { state in
      if path.hasSuffix(":generateAccessToken") { return state.impersonationFault }
      if path.contains("/email") || path.contains("/subject") { return .none }
      if path.hasSuffix("/token") {
        state.mints += 1
        return state.tokenFault
      }
      state.keyFetches += 1
      return state.keySetFault
    }
  }

  func answer(_ path: String, _ body: [UInt8], _ headers: HTTPHeaders = [:]) -> HTTPResponse {
    state.withLock { state in
      if path.hasSuffix(":generateAccessToken") { return Self.impersonated(&state, path, body, headers) }
      if path.hasSuffix("/subject") { return HTTPResponse(status: 200, body: Array(state.subjectDocument.utf8)) }
      let flavor: HTTPHeaders = state.metadataFlavor.map { ["Metadata-Flavor": $0] } ?? [:]
      if path.hasSuffix("/email") { return HTTPResponse(status: 200, headers: flavor, body: Array(state.machineAccount.utf8)) }
      if path.hasSuffix("/token") {
        state.assertions.append(String(decoding: body, as: UTF8.self))
        var members: JSONObject = ["access_token": .string(Self.tokenPrefix + "\(state.mints)"), "token_type": "Bearer"]
        members["expires_in"] = state.expiresIn
        return HTTPResponse(
          status: 200, headers: path.contains("computeMetadata") ? flavor : [:], body: JSONValue.object(members).encoded())
      }
      if path.hasSuffix("openid-configuration") {
        let document: JSONObject = ["issuer": "https://accounts.google.com", "jwks_uri": "https://keys.example/certs"]
        return HTTPResponse(status: 200, body: JSONValue.object(document).encoded())
      }
      return HTTPResponse(
        status: 200, headers: ["Cache-Control": state.cacheControl, "Age": state.age],
        body: JWKSet(state.keys.map(\.publicKey)).encoded())
    }
  }

  private static func impersonated(
    _ state: inout State, _ path: String, _ body: [UInt8], _ headers: HTTPHeaders
  ) -> HTTPResponse {
    let account = path.split(separator: "/").last?.split(separator: ":").first.map(String.init) ?? ""
    let object = (try? JSONParser.parse(body).object) ?? [:]
    state.impersonations.append(
      Impersonated(account: account, bearer: headers["authorization"] ?? "", body: object))
    let lifetime = object["lifetime"]?.string.flatMap { Int64($0.dropLast()) } ?? 3600
    var members: JSONObject = [
      "accessToken": .string(impersonatedPrefix + "\(account)-\(state.impersonations.count)"),
      "expireTime": .string(Instant(seconds: state.wall() + lifetime).description),
    ]
    for (name, value) in state.impersonationChanges { members[name] = value }
    return HTTPResponse(status: 200, body: JSONValue.object(members).encoded())
  }

  var impersonations: [Impersonated] { state.withLock { $0.impersonations } }

  /// As the provider's way out, without a network.
  func send(_ request: HTTPRequest) async throws(OutboundError) -> HTTPResponse {
    let path = String(request.url.split(separator: "?")[0])
    let asked = Asked(
      path: request.url, headers: request.headers, body: String(decoding: request.body ?? [], as: UTF8.self),
      isLinkLocal: request.isLinkLocal)
    state.withLock { $0.requests.append(asked) }
    switch fault(path) {
    case .none: break
    case .status(let status, let text): return HTTPResponse(status: status, body: Array(text.utf8))
    case .hang:
      await withCheckedContinuation { continuation in
        state.withLock { $0.held.append(continuation) }
        // Only now: who hears it may release all that hang.
        hanging.fire()
      }
    }
    return answer(path, request.body ?? [], request.headers)
  }

  /// Lets every hanging request go on.
  func release() {
    let held = state.withLock { state in
      defer { state.held = [] }
      state.tokenFault = .none
      state.keySetFault = .none
      return state.held
    }
    for continuation in held { continuation.resume() }
  }
}

/// A clock that tests move by hand.
final class VirtualClock: Sendable {
  private struct State {
    var monotonic = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    var wall = Duration.seconds(FakeGoogle.now)
    var sleeps: [Duration] = []
  }

  private let state = Mutex(State())

  var monotonic: MonotonicInstant { state.withLock { $0.monotonic } }
  var wall: Duration { state.withLock { $0.wall } }
  var sleeps: [Duration] { state.withLock { $0.sleeps } }

  func advance(by duration: Duration) {
    state.withLock {
      $0.monotonic = $0.monotonic.advanced(by: duration)
      $0.wall += duration
    }
  }

  /// Somebody sets the time of day back, or right again; no time passes.
  func jump(by duration: Duration) { state.withLock { $0.wall += duration } }

  /// Sleeping moves the clock and takes no time.
  var google: ProviderClock {
    ProviderClock(
      now: { self.monotonic }, unixSeconds: { self.wall.components.seconds }, random: { 0.5 },
      sleep: { duration in
        self.advance(by: duration)
        self.state.withLock { $0.sleeps.append(duration) }
      })
  }
}
