import AuthAPI
import AuthStore
import EventLoop
import Glibc
import HTTP2
import Logging
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import RPCServer
import ServiceKit
import TestSupport

/// A database for brokers, migrated, with its two roles.
struct BrokerDatabase: Sendable {
  let superuser: DatabaseConfiguration
  let directory: String

  /// As the serving role.
  let servingURL: String

  /// Creates it, hands it to `body` and drops it.
  static func with(on server: PrivatePostgreSQL? = nil, _ body: @escaping @Sendable (BrokerDatabase) async throws -> Void)
    async throws
  {
    try await TestDatabase.with(on: server?.configuration()) { database in
      let servingURL = try await database.prepare(AuthMigrations.schema, AuthMigrations.all)
      var template = Array("/var/tmp/parley-broker-XXXXXX\0".utf8.map { CChar(bitPattern: $0) })
      guard mkdtemp(&template) != nil else { throw TimedOut("a file that could be made") }
      let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      defer { _ = try? ChildProcess.run(["rm", "-rf", directory], output: "/dev/null") }
      try await body(BrokerDatabase(superuser: database.configuration, directory: directory, servingURL: servingURL))
    }
  }

  /// Runs trusted SQL as superuser.
  func script(_ text: String) async throws {
    try await session { try await $0.script(text) }
  }

  /// One column, read as superuser.
  func values<Value: SQLDecodable & Sendable>(_ query: Query) async throws -> [Value] {
    try await session { session in
      let result = try await session.run(query)
      return try (0..<result.count).map { try result[$0].decode(Value.self, at: 0) }
    }
  }

  /// One value, read as superuser.
  func value<Value: SQLDecodable & Sendable>(_ query: Query, as type: Value.Type = Value.self) async throws -> Value? {
    let values: [Value] = try await values(query)
    return values.first
  }

  private func session<Value: Sendable>(_ body: @escaping @Sendable (PostgreSQL.Session) async throws -> Value) async throws
    -> Value
  {
    try await withLoops(1) { group in
      try await PostgreSQL.Session.with(superuser, group: group, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) {
        try await body($0)
      }
    }
  }
}

/// What clients show when they are asked who they are.
struct ClientCertificates: Sendable {
  static let operatorName = "spiffe://parley/operator"

  let root: [UInt8]
  let `operator`: TestAuthority.Leaf
  let service: TestAuthority.Leaf

  init() {
    let authority = TestAuthority(commonName: "Parley clients")
    root = authority.certificate
    self.operator = authority.client(commonName: "operator", uris: [Self.operatorName])
    service = authority.client(commonName: "notes", uris: ["spiffe://parley/notes"])
  }
}

/// A broker as it runs in production, in this process, on ports of its own, with clients for gRPC and HTTP.
struct BrokerFixture: Sendable {
  let google: FakeGoogle
  let clock: VirtualClock
  let log: CapturedLog
  let instance: ServiceInstance
  let channel: ClientChannel
  let http: HTTPClient
  let base: String
  /// Who signs what operators and services are known by.
  let clients: ClientCertificates
  /// As an operator, known by a certificate.
  let operators: ClientChannel
  /// As somebody else, known by a certificate.
  let services: ClientChannel
  /// The loops of the clients.
  let loops: EventLoopGroup

  var grpc: TokenBrokerService.Client { TokenBrokerService.Client(channel) }
  var admin: BrokerAdminService.Client { BrokerAdminService.Client(operators) }

  /// Starts a broker for the length of `body`.
  ///
  /// - Parameters:
  ///   - agesByClock: Whether what was fetched ages by `clock`, too; by default by the machine's.
  ///   - costs: Who counts what calls cost the database.
  static func with(
    _ database: BrokerDatabase, google: FakeGoogle = FakeGoogle(), clock: VirtualClock = VirtualClock(),
    log: CapturedLog = CapturedLog(),
    settings changes: [String: String] = [:], waitsForKeys: Bool = true, agesByClock: Bool = false,
    costs: CallCosts? = nil, _ body: @escaping @Sendable (BrokerFixture) async throws -> Void
  ) async throws {
    let server = try FakeGoogleServer(google)
    let result: Result<Void, any Error>
    let wall =
      agesByClock
      ? WallClock {
        clock.wall
      } monotonic: {
        clock.monotonic
      } : WallClock { clock.wall }
    do { result = .success(try await run(database, server, clock, wall, log, changes, waitsForKeys, costs, body)) } catch {
      result = .failure(error)
    }
    let pool = BlockingPool(maximumThreads: 1)
    defer { pool.shutDown() }
    try await pool.run { server.stop() }
    try result.get()
  }

  private static func run(
    _ database: BrokerDatabase, _ server: FakeGoogleServer, _ clock: VirtualClock, _ wall: WallClock, _ log: CapturedLog,
    _ changes: [String: String],
    _ waitsForKeys: Bool, _ costs: CallCosts?, _ body: @escaping @Sendable (BrokerFixture) async throws -> Void
  ) async throws {
    let authority = TestAuthority()
    let leaf = authority.server()
    let peer = authority.client(commonName: "notes", uris: ["spiffe://parley/notes"])
    for (name, bytes) in [
      ("ca", authority.certificate), ("cert", leaf.certificateChain), ("key", leaf.privateKey), ("peer", peer.certificateChain),
      ("peer-key", peer.privateKey),
    ] {
      try write(bytes, to: "\(database.directory)/\(name).pem")
    }
    var environment = [
      "PARLEY_AUTH_LISTEN": "127.0.0.1:0", "PARLEY_AUTH_TLS_LISTEN": "127.0.0.1:0",
      "PARLEY_AUTH_TLS_CERTIFICATE": "\(database.directory)/cert.pem", "PARLEY_AUTH_TLS_KEY": "\(database.directory)/key.pem",
      "PARLEY_AUTH_DATABASE_URL": database.servingURL, "PARLEY_AUTH_OIDC_CLIENT_IDS": FakeGoogle.clientID,
      "PARLEY_AUTH_GOOGLE_SA_JSON": try FakeGoogle.serviceAccount(tokenURI: "\(server.url)/token"),
      "PARLEY_AUTH_TLS_CLIENT_IDENTITIES":
        "SessionDirectoryService=spiffe://parley/notes,EntitlementDirectoryService=spiffe://parley/notes",
      "PARLEY_AUTH_APPLE_JWKS_URL": "\(server.url)/apple",
      "PARLEY_AUTH_JWKS_URL": "\(server.url)/certs", "PARLEY_AUTH_LOOPS": "2", "PARLEY_AUTH_TRUSTED_PROXIES": "127.0.0.0/8",
      "PARLEY_AUTH_KEY_ENCRYPTION_KEY": "a2V5LWVuY3J5cHRpb24ta2V5LW9mLXRoZS10ZXN0cyE=", "PARLEY_AUTH_LOG_LEVEL": "trace",
      "PARLEY_AUTH_DRAIN_TIMEOUT": "2s",
    ]
    // Where the fake is, in settings of a test's own.
    let places = ["{google}": server.url, "{google-host}": String(server.url.dropFirst("http://".count))]
    environment.merge(
      changes.mapValues { value in places.reduce(value) { $0.replacing($1.key, with: $1.value) } }
    ) { $1 }
    server.google.set { $0.wall = { clock.wall.components.seconds } }
    let clients = ClientCertificates()
    // Operators and services have certificates of two authorities.
    try write(clients.root + authority.certificate, to: "\(database.directory)/clients.pem")
    environment["PARLEY_AUTH_TLS_CLIENT_CA"] = "\(database.directory)/clients.pem"
    environment["PARLEY_AUTH_TLS_CLIENT_CERTIFICATES"] = "optional"
    environment["PARLEY_AUTH_TLS_ADMIN_IDENTITIES"] = ClientCertificates.operatorName
    let settings = try Settings(
      service: "auth", keys: AuthService.configuration + StandardKeys.all(database: true), environment: environment)
    let authorityCertificate = authority.certificate
    let instance = try await ServiceInstance.start(
      AuthService.self, settings: settings, log: log.logger, telemetry: ServiceTelemetry(costs: costs), clock: wall)
    let serving = Task { try await instance.run() }
    let outcome = await Task { () async -> Result<Void, any Error> in
      do {
        if waitsForKeys { try await eventually { instance.health.isServing } }
        try await withLoops(1) { group in
          var configuration = HTTPClientConfiguration()
          configuration.caFile = "\(database.directory)/ca.pem"
          let http = try HTTPClient(
            loops: group.loops, configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
          let trust = try TLSContext(
            .client(
              trustRoots: .certificates(.bytes(authorityCertificate)),
              identity: .init(
                certificateChain: .bytes(clients.operator.certificateChain), privateKey: .bytes(clients.operator.privateKey)),
              serverName: "localhost"))
          let stranger = try TLSContext(
            .client(
              trustRoots: .certificates(.bytes(authorityCertificate)),
              identity: .init(
                certificateChain: .bytes(clients.service.certificateChain), privateKey: .bytes(clients.service.privateKey)),
              serverName: "localhost"))
          let tlsPort = instance.addresses.tls?.port ?? 0
          let admin = ClientChannel(to: .host("127.0.0.1", port: tlsPort), on: group, configuration: .init(tls: trust))
          let other = ClientChannel(to: .host("127.0.0.1", port: tlsPort), on: group, configuration: .init(tls: stranger))
          let channel = ClientChannel(to: .host("127.0.0.1", port: instance.addresses.grpc?.port ?? 0), on: group)
          let fixture = BrokerFixture(
            google: server.google, clock: clock, log: log, instance: instance, channel: channel, http: http,
            base: "https://127.0.0.1:\(tlsPort)", clients: clients, operators: admin, services: other, loops: group)
          // On a loop of the clients, as a program of ours would be.
          let result = await Task(executorPreference: group.loops[0]) { () async -> Result<Void, any Error> in
            let result: Result<Void, any Error>
            do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
            for open in [channel, admin, other] { await open.close() }
            return result
          }.value
          await http.shutDown()
          try result.get()
        }
        return .success(())
      } catch { return .failure(error) }
    }.value
    instance.stop()
    try await serving.value
    try outcome.get()
  }

  static func write(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0, Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw TimedOut("a file that could be made")
    }
    close(descriptor)
  }

  // MARK: Calls

  /// Exchanges a token over gRPC.
  func exchange(
    _ token: String, from address: String = "192.0.2.1", capability: String = "", timeout: Duration = .seconds(20)
  ) async throws(RPCError) -> ExchangeTokenResponse {
    try await grpc.exchangeToken(.init(capability: capability), options: options(token, address, timeout))
  }

  func options(_ token: String, _ address: String = "192.0.2.1", _ timeout: Duration = .seconds(20)) -> CallOptions {
    CallOptions(metadata: ["authorization": "Bearer \(token)", "x-forwarded-for": address], deadline: .after(timeout))
  }

  /// Sends a request over HTTP/2 with TLS.
  func get(
    _ path: String, token: String? = nil, method: HTTPMethod = .get, headers: HTTPHeaders = [:]
  ) async throws -> HTTPResponse {
    var request = HTTPRequest(method, base + path, headers: headers)
    if let token { request.headers.add("Authorization", "Bearer \(token)") }
    return try await http.send(request)
  }

  /// A token of that user, issued now.
  func idToken(_ user: String = "ana") -> String { FakeGoogle.token(user, at: clock.wall.components.seconds) }
}
