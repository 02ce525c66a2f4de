import Glibc
import JOSE
import JSON
import RPCServer
import Synchronization

/// Apple as far as the services know it: published keys, identity tokens of any person, its token endpoints, and notifications.
final class AppleStandIn: Sendable {
  private struct State {
    var keys = MadeWhenNeeded { PublishedKeys(try .generate(.rs256)) }
    var grants = IssuedGrants()
  }

  static let keysPath = "/apple/auth/keys"
  static let tokenPath = "/apple/auth/token"
  static let revokePath = "/apple/auth/revoke"

  /// The key of the developer team that may ask.
  let developer: DeveloperKey
  private let keyLifetime: Int
  private let state: Mutex<State>
  private let now: @Sendable () -> Int64

  /// Keys of its own, fresh for each stand-in. `now` is in seconds since 1970.
  init(keyLifetime: Int, now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }) throws {
    developer = try DeveloperKey()
    state = Mutex(State())
    self.keyLifetime = keyLifetime
    self.now = now
  }

  /// What is served, by its paths.
  var routes: [StandInRoute] {
    [
      StandInRoute(method: "GET", path: Self.keysPath, aliases: ["/auth/keys"]) { _ in try self.publishedKeys() },
      StandInRoute(method: "POST", path: Self.tokenPath, aliases: ["/auth/token"]) { try self.token($0) },
      StandInRoute(method: "POST", path: Self.revokePath, aliases: ["/auth/revoke"]) { self.revoke($0) },
    ]
  }

  // MARK: Steering

  /// Signs with a new key from now on. Making it takes a while: not to be called on a loop.
  func rotateKeys(withdrawingOld: Bool) throws -> PublishedKeys {
    let key = try SigningKey.generate(.rs256)
    return try state.withLock { try $0.keys.change { $0.rotate(to: key, withdrawingOld: withdrawingOld) } }
  }

  /// An identity token as it is wished for, valid or not, and the authorization code that came with it.
  func identityToken(_ wish: WishedToken) throws -> (token: String, code: String?) {
    let token = try sign(wish)
    guard let audience = wish.claims["aud"]?.string, let subject = wish.claims["sub"]?.string else { return (token, nil) }
    let now = now()
    let code = state.withLock { $0.grants.code(for: .init(subject: subject, clientID: audience), now: now) }
    return (token, code)
  }

  /// The body of a notification: what the real Apple would post.
  func notification(_ request: ControlRequest) throws -> JSONValue {
    ["payload": .string(try sign(NotificationRequest.read(request, now: now())))]
  }

  /// How many codes, refresh tokens and revocations there are.
  var grants: JSONValue { state.withLock { $0.grants.json } }

  private func sign(_ wish: WishedToken) throws -> String {
    try wish.token(signedBy: state.withLock { try $0.keys.value().current }, now: now())
  }

  // MARK: Answers

  private func publishedKeys() throws -> HTTPServerResponse {
    let keys = try state.withLock { try $0.keys.value() }
    return .json(200, keys.document, headers: [("cache-control", "public, max-age=\(keyLifetime)")])
  }

  private func token(_ request: HTTPServerRequest) throws -> HTTPServerResponse {
    let now = now()
    guard let form = Self.form(request) else { return Self.refusal("invalid_request") }
    guard let clientID = client(form, now: now) else { return Self.refusal("invalid_client") }
    let owner: IssuedGrants.Owner
    var answer: JSONObject = ["token_type": "Bearer", "expires_in": 3600]
    switch form["grant_type"] {
    case "authorization_code":
      guard let code = form["code"] else { return Self.refusal("invalid_request") }
      guard let found = state.withLock({ $0.grants.take(code: code, clientID: clientID, now: now) }) else {
        return Self.refusal("invalid_grant")
      }
      owner = found
      answer["refresh_token"] = .string(state.withLock { $0.grants.refreshToken(for: found) })
    case "refresh_token":
      guard let token = form["refresh_token"] else { return Self.refusal("invalid_request") }
      guard let found = state.withLock({ $0.grants.owner(ofRefreshToken: token, clientID: clientID) }) else {
        return Self.refusal("invalid_grant")
      }
      owner = found
    default: return Self.refusal("unsupported_grant_type")
    }
    answer["access_token"] = .string(state.withLock { $0.grants.accessToken(for: owner) })
    let claims: JSONObject = [
      "iss": .string(IdentityTokenRequest.issuer), "aud": .string(clientID), "sub": .string(owner.subject),
      "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + IdentityTokenRequest.lifetime)),
    ]
    answer["id_token"] = .string(try state.withLock { try $0.keys.value().current }.sign(claims: claims))
    return .json(.object(answer))
  }

  /// RFC 7009: whoever asks with a token that is none is told that it is revoked, which is true.
  private func revoke(_ request: HTTPServerRequest) -> HTTPServerResponse {
    guard let form = Self.form(request), let token = form["token"], !token.isEmpty else { return Self.refusal("invalid_request") }
    guard let clientID = client(form, now: now()) else { return Self.refusal("invalid_client") }
    state.withLock { $0.grants.revoke(token, clientID: clientID) }
    return .text(200, "")
  }

  private func client(_ form: FormBody, now: Int64) -> String? {
    guard let clientID = form["client_id"], let secret = form["client_secret"] else { return nil }
    return developer.isSecret(secret, of: clientID, now: now) ? clientID : nil
  }

  private static func form(_ request: HTTPServerRequest) -> FormBody? {
    let type = request.header("content-type")?.split(separator: ";").first.map(String.init)
    return type?.lowercased() == "application/x-www-form-urlencoded" ? FormBody(request.body) : nil
  }

  private static func refusal(_ error: String) -> HTTPServerResponse { .json(["error": .string(error)], status: 400) }
}
