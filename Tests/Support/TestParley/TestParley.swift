internal import AuthAPI
internal import AuthDomain
internal import AuthStore
public import EventLoop
internal import Glibc
internal import HTTP2
internal import JOSE
internal import JSON
internal import Logging
public import ParleyAPI
internal import PostgreSQL
public import RPCClient
public import ServiceKit
internal import TestSupport

/// The auth service with a database of its own, ports of the system's choice and a clock that stands, and people signed in with a
/// line each; other services are started beside it and know its sessions.
///
/// ```swift
/// try await TestParley.with { parley in
///   let ana = try await parley.signIn("ana")
///   try await parley.with(DemoService.self) { _, channel in
///     _ = try await EchoService.Client(channel).guarded(options: ana.options)
///   }
/// }
/// ```
public struct TestParley: Sendable {
  /// The auth service.
  public let auth: ServiceInstance
  /// The time.
  public let clock: TestClock
  /// Which sessions are alive, as other services are told.
  public let directory: TestDirectory
  /// The loops of the test's clients.
  public let loops: EventLoopGroup
  private let keyring: SigningKeyring
  private let served: ServedDirectory
  private let folder: String

  static let issuer = "https://auth.test"
  static let sealing = Base64.encode([UInt8](repeating: 7, count: 32))
  private static let identity = "spiffe://parley/test"
  private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  // MARK: People

  /// Signs somebody in. The same name is the same account, in another session.
  public func signIn(_ name: String, app: String = "default") async throws -> TestUser {
    let digest = SHA256.digest("\(app)/\(name)")
    let half = { (bytes: ArraySlice<UInt8>) in bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
    var random = SystemRandomNumberGenerator()
    let user = UserID(high: half(digest[0..<8]), low: half(digest[8..<16]))
    let session = SessionID(high: random.next(), low: random.next())
    let now = Moment(seconds: clock.unixSeconds)
    let token = try await AccessTokenSigner(keyring, issuer: Self.issuer, audience: "parley").sign(
      AccessTokenClaims(
        user: user, session: session, app: app, issuedAt: now, expiresAt: now.advanced(by: .seconds(300)), authenticatedAt: now))
    directory.begin(session.description)
    return TestUser(userID: user, sessionID: session, accessToken: token)
  }

  /// Ends somebody's session.
  public func end(_ user: TestUser, _ cause: ParleyAPI.SessionEnd = .signedOut) {
    directory.end(user.sessionID.description, cause, mattersUntil: clock.unixSeconds + 300)
  }

  // MARK: Services

  /// Starts another service for the length of `body`, and a channel to it in clear text.
  public func with<S: Service>(
    _ service: S.Type, settings changes: [String: String] = [:],
    _ body: @escaping @Sendable (ServiceInstance, ClientChannel) async throws -> Void
  ) async throws {
    let prefix = "PARLEY_\(S.name.uppercased())_"
    var environment = [
      "LISTEN": "127.0.0.1:0", "LOOPS": "1", "DRAIN_TIMEOUT": "2s",
      "AUTH_ADDRESS": "https://127.0.0.1:\(served.address.port ?? 0)",
      "JWKS_URL": "https://127.0.0.1:\(auth.addresses.tls?.port ?? 0)/.well-known/jwks.json",
      "SESSION_ISSUER": Self.issuer, "OUTBOUND_CA_FILE": "\(folder)/ca.pem", "AUTH_CLIENT_CERTIFICATE": "\(folder)/client.pem",
      "AUTH_CLIENT_KEY": "\(folder)/client-key.pem",
    ]
    environment.merge(changes) { $1 }
    let settings = try Settings(
      service: S.name, keys: S.configuration + StandardKeys.all(database: false),
      environment: Dictionary(uniqueKeysWithValues: environment.map { (prefix + $0.key, $0.value) }))
    try await Self.serving(S.self, settings, clock.wall) { instance in
      let channel = ClientChannel(to: .host("127.0.0.1", port: instance.addresses.grpc?.port ?? 0), on: loops)
      let result = await Result { try await body(instance, channel) }
      await channel.close()
      try result.get()
    }
  }

  // MARK: Starting

  /// Starts it all for the length of `body`. `changes` are settings of the auth service, without `PARLEY_AUTH_`.
  public static func with(
    settings changes: [String: String] = [:], _ body: @escaping @Sendable (TestParley) async throws -> Void
  ) async throws {
    try await TestDatabase.with { database in
      let url = try await database.prepare(AuthMigrations.schema, AuthMigrations.all)
      let folder = try Self.folder()
      defer { _ = try? ChildProcess.run(["rm", "-rf", folder], output: "/dev/null") }
      let authority = TestAuthority()
      let server = authority.server()
      let client = authority.client(commonName: "test", uris: [identity])
      for (name, bytes) in [
        ("ca", authority.certificate), ("server", server.certificateChain), ("server-key", server.privateKey),
        ("client", client.certificateChain), ("client-key", client.privateKey),
      ] { try write(bytes, to: "\(folder)/\(name).pem") }
      let clock = TestClock()
      let settings = try authSettings(url, folder, changes)
      try await serving(AuthService.self, settings, clock.wall) { auth in
        let connected = try Database(DatabaseConfiguration(url), group: database.group, log: silent)
        await connected.waitUntilReady()
        let result = await Result {
          let tls = try TLSContext(
            .server(
              identity: .init(certificateChain: .file("\(folder)/server.pem"), privateKey: .file("\(folder)/server-key.pem")),
              clients: .required(.certificates(.file("\(folder)/ca.pem")))))
          guard let identity = ClientIdentity(configurationText: identity) else { throw TimedOut("an identity") }
          let directory = TestDirectory()
          let served = try ServedDirectory(directory, on: database.group, tls, admitting: identity)
          let keyring = SigningKeyring(
            SigningKeyStore(connected), sealedWith: try SealingKeys(parsing: sealing), on: database.group.loops[0], log: silent,
            now: { Moment(seconds: 0).advanced(by: clock.now) })
          let parley = TestParley(
            auth: auth, clock: clock, directory: directory, loops: database.group, keyring: keyring, served: served,
            folder: folder)
          let outcome = await Result { try await body(parley) }
          await served.stop()
          try outcome.get()
        }
        await connected.shutDown()
        try result.get()
      }
    }
  }

  private static func authSettings(_ url: String, _ folder: String, _ changes: [String: String]) throws -> Settings {
    let pem = try SigningKey.generate(.rs256).privatePEM()
    let account: JSONObject = [
      "type": "service_account", "project_id": "p", "private_key_id": "k", "private_key": .string(pem),
      "client_email": "broker@p.iam.gserviceaccount.com", "token_uri": "https://127.0.0.1:1/token",
    ]
    var environment = [
      "LISTEN": "127.0.0.1:0", "TLS_LISTEN": "127.0.0.1:0", "TLS_CERTIFICATE": "\(folder)/server.pem",
      "TLS_KEY": "\(folder)/server-key.pem", "TLS_CLIENT_CA": "\(folder)/ca.pem", "TLS_CLIENT_CERTIFICATES": "optional",
      "TLS_CLIENT_IDENTITIES": identity, "DATABASE_URL": url, "OIDC_CLIENT_IDS": "test",
      "GOOGLE_SA_JSON": JSONValue.object(account).description, "JWKS_URL": "https://127.0.0.1:1/certs", "LOOPS": "1",
      "KEY_ENCRYPTION_KEY": sealing, "SESSION_ISSUER": issuer, "DRAIN_TIMEOUT": "2s", "REVENUECAT_API_KEY": "sk_test",
      "REVENUECAT_URL": "https://127.0.0.1:1",
    ]
    environment.merge(changes) { $1 }
    return try Settings(
      service: "auth", keys: AuthService.configuration + StandardKeys.all(database: true),
      environment: Dictionary(uniqueKeysWithValues: environment.map { ("PARLEY_AUTH_" + $0.key, $0.value) }))
  }

  private static func serving<S: Service>(
    _ service: S.Type, _ settings: Settings, _ clock: WallClock, _ body: (ServiceInstance) async throws -> Void
  ) async throws {
    let instance = try await ServiceInstance.start(S.self, settings: settings, log: silent, clock: clock)
    let running = Task { try await instance.run() }
    let result = await Result { try await body(instance) }
    instance.stop()
    try await running.value
    try result.get()
  }

  private static func folder() throws -> String {
    var template = Array("/var/tmp/parley-test-XXXXXX\0".utf8.map { CChar(bitPattern: $0) })
    guard mkdtemp(&template) != nil else { throw TimedOut("a folder that could be made") }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func write(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0 else { throw TimedOut("a file that could be made") }
    defer { close(descriptor) }
    guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw TimedOut("a file that could be written") }
  }
}

extension Result where Failure == any Error {
  /// What an operation ends with.
  init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
