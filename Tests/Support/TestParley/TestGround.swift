internal import AuthAPI
internal import AuthStore
internal import EventLoop
internal import Glibc
internal import HTTP2
internal import JOSE
internal import JSON
internal import Logging
internal import PostgreSQL
internal import ServiceKit
internal import TestSupport

/// What the services of a test stand on: a database, certificates in a folder, a Google, and a directory of sessions.
struct TestGround: Sendable {
  let database: TestDatabase
  let google: TestGoogle
  let directory: TestDirectory
  /// The settings of the auth service, without `PARLEY_AUTH_`.
  let authEnvironment: [String: String]
  private let served: ServedDirectory
  private let folder: String

  static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  private static let sealing = Base64.encode([UInt8](repeating: 7, count: 32))
  private static let identity = "spiffe://parley/test"
  /// Of the broker's service account: one for all of a process's grounds, since to make it takes a while.
  private static let serviceKey = Result { try SigningKey.generate(.rs256).privatePEM() }

  /// Makes it for the length of `body`.
  static func with(_ body: (TestGround) async throws -> Void) async throws {
    try await TestDatabase.with { database in
      let url = try await database.prepare(AuthMigrations.schema, AuthMigrations.all)
      let folder = try Self.folder()
      defer { _ = try? ChildProcess.run(["rm", "-rf", folder], output: "/dev/null") }
      let authority = TestAuthority()
      let server = authority.server()
      let client = authority.client(commonName: "test", uris: [identity])
      // A certificate of the same authority with another name in it: whoever has it may call nothing.
      let stranger = authority.client(commonName: "stranger", uris: [TestGround.stranger])
      for (name, bytes) in [
        ("ca", authority.certificate), ("server", server.certificateChain), ("server-key", server.privateKey),
        ("client", client.certificateChain), ("client-key", client.privateKey),
        ("stranger", stranger.certificateChain), ("stranger-key", stranger.privateKey),
      ] { try write(bytes, to: "\(folder)/\(name).pem") }
      let own = TLSConfiguration.Identity(
        certificateChain: .file("\(folder)/server.pem"), privateKey: .file("\(folder)/server-key.pem"))
      let known = try TLSContext(.server(identity: own, clients: .required(.certificates(.file("\(folder)/ca.pem")))))
      guard let peer = ClientIdentity(configurationText: identity) else { throw TimedOut("an identity") }
      let directory = TestDirectory()
      let served = try ServedDirectory(directory, on: database.group, known, admitting: peer)
      let google = try TestGoogle(on: database.group, TLSContext(.server(identity: own)))
      let result = await Result.of {
        try await body(
          TestGround(
            database: database, google: google, directory: directory,
            authEnvironment: try authEnvironment(url, folder, google), served: served, folder: folder))
      }
      await google.stop()
      await served.stop()
      try result.get()
    }
  }

  var authorityFile: String { "\(folder)/ca.pem" }

  static let stranger = "spiffe://parley/stranger"

  // MARK: Settings

  private static func authEnvironment(_ url: String, _ folder: String, _ google: TestGoogle) throws -> [String: String] {
    let pem = try serviceKey.get()
    let account: JSONObject = [
      "type": "service_account", "project_id": "p", "private_key_id": "k", "private_key": .string(pem),
      "client_email": "broker@p.iam.gserviceaccount.com", "token_uri": .string(google.tokenURL),
    ]
    return [
      "LISTEN": "127.0.0.1:0", "TLS_LISTEN": "127.0.0.1:0", "TLS_CERTIFICATE": "\(folder)/server.pem",
      "TLS_KEY": "\(folder)/server-key.pem", "TLS_CLIENT_CA": "\(folder)/ca.pem", "TLS_CLIENT_CERTIFICATES": "optional",
      "TLS_CLIENT_IDENTITIES": "SessionDirectoryService=\(identity),EntitlementDirectoryService=\(identity)", "DATABASE_URL": url,
      "OIDC_CLIENT_IDS": TestGoogle.audience,
      "GOOGLE_SA_JSON": JSONValue.object(account).description, "JWKS_URL": google.keySetURL, "LOOPS": "1",
      "OUTBOUND_CA_FILE": "\(folder)/ca.pem", "KEY_ENCRYPTION_KEY": sealing, "SESSION_ISSUER": TestParley.issuer,
      "DRAIN_TIMEOUT": "2s", "REVENUECAT_API_KEY": "sk_test", "REVENUECAT_URL": "https://127.0.0.1:1",
      // Everybody is at one address, and the clock stands.
      "SIGN_IN_BURST": "1000000", "REFRESH_IP_BURST": "1000000",
    ]
  }

  /// What another service is told of the auth service, without `PARLEY_<SERVICE>_`.
  func peerEnvironment<S: Service>(of service: S.Type, jwks: String, _ issuer: String) -> [String: String] {
    // Whoever shows the services' certificate may call all that is for services.
    let callers = ServiceCaller.services(among: S.services).map { "\($0)=\(Self.identity)" }
    return [
      "AUTH_ADDRESS": "https://127.0.0.1:\(served.address.port ?? 0)", "JWKS_URL": jwks, "SESSION_ISSUER": issuer,
      "OUTBOUND_CA_FILE": "\(folder)/ca.pem", "AUTH_CLIENT_CERTIFICATE": "\(folder)/client.pem",
      "AUTH_CLIENT_KEY": "\(folder)/client-key.pem", "TLS_LISTEN": "127.0.0.1:0",
      "TLS_CERTIFICATE": "\(folder)/server.pem", "TLS_KEY": "\(folder)/server-key.pem", "TLS_CLIENT_CA": "\(folder)/ca.pem",
      "TLS_CLIENT_CERTIFICATES": "optional",
      "TLS_CLIENT_IDENTITIES": callers.joined(separator: ","),
    ]
  }

  static func settings<S: Service>(_ service: S.Type, _ environment: [String: String]) throws -> Settings {
    let prefix = "PARLEY_\(S.name.uppercased())_"
    let named = Dictionary(uniqueKeysWithValues: environment.map { (prefix + $0.key, $0.value) })
    return try Settings(service: S.name, keys: S.keys, environment: named)
  }

  // MARK: Running

  static func serving<S: Service>(
    _ service: S.Type, _ settings: Settings, _ clock: WallClock, log: Logger = TestGround.silent, costs: CallCosts? = nil,
    _ body: (ServiceInstance) async throws -> Void
  ) async throws {
    let instance = try await ServiceInstance.start(
      S.self, settings: settings, log: log, telemetry: ServiceTelemetry(costs: costs), clock: clock)
    let running = Task { try await instance.run() }
    let result = await Result.of { try await body(instance) }
    instance.stop()
    try await running.value
    try result.get()
  }

  /// TLS for clients of the services, with one of the certificates in the folder.
  func tls(showing certificate: TestParley.Certificate) throws -> TLSContext {
    try TLSContext(
      .client(
        trustRoots: .certificates(.file("\(folder)/ca.pem")),
        identity: certificate.file.map {
          .init(certificateChain: .file("\(folder)/\($0).pem"), privateKey: .file("\(folder)/\($0)-key.pem"))
        }))
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
