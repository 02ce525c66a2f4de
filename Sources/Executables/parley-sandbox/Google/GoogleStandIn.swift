import Glibc
import JOSE
import JSON
import RPCServer
import Synchronization

/// Google as far as the services know it: published keys, ID tokens of any person, and the token endpoint.
final class GoogleStandIn: Sendable {
  private struct State {
    var keys = MadeWhenNeeded { PublishedKeys(try .generate(.rs256)) }
    var account = MadeWhenNeeded { try ServiceAccount() }
    var settings: GoogleSettings
    /// `https://localhost:PORT` and its other spellings; the first is the one that documents name.
    var origins: [String] = []
  }

  private static let discoveryPath = "/google/.well-known/openid-configuration"
  private static let certsPath = "/google/certs"
  private static let tokenPath = "/google/token"

  /// The access tokens that were handed out, by whatever way.
  let tokens = MintedTokens()
  private let state: Mutex<State>
  private let now: @Sendable () -> Int64

  /// Keys of its own, fresh for each stand-in. `now` is in seconds since 1970.
  init(_ settings: GoogleSettings, now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }) {
    state = Mutex(State(settings: settings))
    self.now = now
  }

  /// What is served, by its paths.
  var routes: [StandInRoute] {
    [
      StandInRoute(method: "GET", path: Self.discoveryPath) { _ in .json(self.discoveryDocument) },
      StandInRoute(method: "GET", path: Self.certsPath, aliases: ["/oauth2/v3/certs"]) { _ in try self.certs() },
      StandInRoute(method: "POST", path: Self.tokenPath, aliases: ["/token"]) { try self.token($0) },
    ]
  }

  /// Tells under which addresses it can be reached.
  func listens(on ports: Sandbox.Ports) {
    let origins =
      ["https://localhost:\(ports.tls)", "https://127.0.0.1:\(ports.tls)"]
      + (ports.plain.map { ["http://localhost:\($0)", "http://127.0.0.1:\($0)"] } ?? [])
    state.withLock { $0.origins = origins }
  }

  // MARK: Steering

  /// What can be changed.
  var settings: GoogleSettings { state.withLock { $0.settings } }

  /// Changes some of it.
  func change(_ body: (inout GoogleSettings) -> Void) -> GoogleSettings {
    state.withLock { state in
      body(&state.settings)
      return state.settings
    }
  }

  /// Signs with a new key from now on. Making it takes a while: not to be called on a loop.
  func rotateKeys(withdrawingOld: Bool) throws -> PublishedKeys {
    let key = try SigningKey.generate(.rs256)
    return try state.withLock { try $0.keys.change { $0.rotate(to: key, withdrawingOld: withdrawingOld) } }
  }

  /// An ID token as it is wished for, valid or not.
  func idToken(_ wish: WishedToken) throws -> String {
    try wish.token(signedBy: state.withLock { try $0.keys.value().current }, now: now())
  }

  /// The key file of the service account; its `token_uri` leads here.
  var serviceAccountDocument: [UInt8] {
    get throws { try account.document(tokenURI: origin + Self.tokenPath) }
  }

  /// The one service account that the token endpoint knows.
  var account: ServiceAccount {
    get throws { try state.withLock { try $0.account.value() } }
  }

  // MARK: Answers

  /// The keys that the world can see.
  var publishedKeys: JWKSet {
    get throws { JWKSet(try state.withLock { try $0.keys.value().published.map(\.publicKey) }) }
  }

  private var origin: String { state.withLock { $0.origins.first ?? "" } }

  private var discoveryDocument: JSONValue {
    [
      "issuer": .string(IDTokenRequest.issuer), "jwks_uri": .string(origin + Self.certsPath),
      "token_endpoint": .string(origin + Self.tokenPath), "response_types_supported": ["id_token"],
      "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"],
    ]
  }

  private func certs() throws -> HTTPServerResponse {
    let (keys, settings) = try state.withLock { (try $0.keys.value(), $0.settings) }
    let lifetime = "public, max-age=\(settings.certsMaxAge), must-revalidate, no-transform"
    return .json(200, keys.document, headers: [("cache-control", lifetime)])
  }

  private func token(_ request: HTTPServerRequest) throws -> HTTPServerResponse {
    let (origins, settings) = state.withLock { ($0.origins, $0.settings) }
    let endpoint = TokenEndpoint(
      account: try account, addresses: origins.flatMap { [$0 + Self.tokenPath, $0 + "/token"] }, lifetime: settings.tokenLifetime)
    return endpoint.answer(request, now: now(), minting: tokens)
  }
}
