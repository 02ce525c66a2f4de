import AuthDomain
import AuthStore
import EventLoop
import JOSE
import Logging
import PostgreSQL
import Values

@testable import AuthAPI

/// Three copies of the store on one database, as three processes have them: each with connections of its own.
struct SessionStores: Sendable {
  static let client = SessionStore.Client(address: "192.0.2.1", requestID: "r")

  let stores: [SessionStore]
  let databases: [Database]
  let group: EventLoopGroup
  let tokens: RefreshTokens
  let prepared: BrokerDatabase

  static func with(_ body: @escaping @Sendable (SessionStores) async throws -> Void) async throws {
    let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    try await LimitStoreTests.withStore { first, group, prepared in
      var databases = [first]
      for _ in 0..<2 {
        databases.append(try Database(try DatabaseConfiguration(prepared.servingURL), group: group, log: silent))
      }
      for database in databases { await database.waitUntilReady() }
      let result: Result<Void, any Error>
      do {
        let pepper = SecureRandom.bytes(32)
        let stores = databases.map { SessionStore($0, tokensOutlive: .seconds(600), patience: .seconds(60)) }
        result = .success(
          try await body(
            SessionStores(
              stores: stores, databases: databases, group: group, tokens: RefreshTokens(pepper: pepper), prepared: prepared)))
      } catch { result = .failure(error) }
      for database in databases.dropFirst() { await database.shutDown() }
      try result.get()
    }
  }

  /// Signs somebody in.
  func session(at now: Instant, rules: RefreshRules = RefreshRules(), user: String = "ana") async throws -> RefreshToken {
    let store = SignInStore(databases[0], patience: .seconds(60))
    func random() -> Digest { RefreshTokens.digest(SecureRandom.bytes(32)) }
    func identifier() -> UUID { .v7(at: now) }
    let identity = VerifiedIdentity(
      provider: .google, subject: user, audience: "web", issuedAt: now, expiresAt: now.advanced(by: .seconds(600)))
    let newUser = UserID(identifier())
    let record = SessionRecord(
      id: SessionID(identifier()), user: newUser, app: "default", provider: .google, device: Device(name: "phone"),
      createdAt: now,
      authenticatedAt: now, lastUsedAt: now, lastAddress: "192.0.2.1", expiresAt: now)
    let token = tokens.first(of: record.id)
    let nonce = random()
    try await store.issue(nonce: nonce, app: "default", provider: .google, expiresAt: now.advanced(by: .seconds(60)))
    let exchange = SignInStore.Exchange(
      nonce: nonce, token: random(), tokenExpiresAt: now.advanced(by: .seconds(600)), identity: identity, name: "Ana",
      newUser: newUser, session: record, state: RefreshState(first: RefreshTokens.digest(token), at: now, rules: rules),
      requestID: "r")
    guard case .signedIn = try await store.exchange(exchange, at: now) else { throw TestFailure("nobody was signed in") }
    return token
  }

  /// Shows a token to one of the copies.
  func show(
    _ token: RefreshToken, attempt: String, to copy: Int, at now: Instant, rules: RefreshRules = RefreshRules()
  ) async throws -> (action: RefreshState.Action, next: RefreshToken?) {
    guard let owner = try await stores[copy].owner(of: token.session) else { return (.unknown, nil) }
    let refreshed = try await stores[copy].refresh(
      .init(
        session: token.session, generation: token.generation, digest: RefreshTokens.digest(token),
        attempt: RefreshTokens.attempt(attempt)), of: owner.user, at: now, rules: rules, for: Self.client,
      successor: { [tokens] in RefreshTokens.digest(tokens.successor(of: token, attempt: attempt, generation: $0)) })
    switch refreshed.action {
    case .handOut(let generation), .repeatAnswer(let generation):
      return (refreshed.action, tokens.successor(of: token, attempt: attempt, generation: generation))
    default: return (refreshed.action, nil)
    }
  }
}

/// A test that cannot go on.
struct TestFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
