import AuthAPI
import AuthDomain
import AuthStore
import EventLoop
import Glibc
import JSON
import Logging
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import RPCServer
import ServiceKit
import TestSupport
import Values

/// Billing alone as a service, for callers who name themselves.
enum BillingService: Service {
  static let name = "auth"
  static let configuration: [any ConfigurationKeyDeclaration] = Billing.configuration
  static let services: [ServiceDescriptor] = Billing.services
  static let migrations: [Migration] = AuthMigrations.all

  static func build(_ context: ServiceContext) async throws -> ServiceParts {
    guard let billing = Billing(context) else { return ServiceParts() }
    return ServiceParts(joining: [
      billing.parts(NamedCallers()), ServiceParts(guards: [.session: .handlers, .service: .handlers]),
    ])
  }
}

/// Takes the bearer token for the account's id.
struct NamedCallers: BillingCallers {
  func user(of call: CallContext) throws(RPCError) -> UserID { try user(call.metadata["authorization"]) }

  func user(of request: HTTPServerRequest) async throws(RPCError) -> UserID { try user(request.header("authorization")) }

  private func user(_ field: String?) throws(RPCError) -> UserID {
    guard let field, field.hasPrefix("Bearer "), let user = UserID(String(field.dropFirst(7))) else {
      throw RPCError(.unauthenticated, "who?")
    }
    return user
  }
}

/// Billing as it runs in production, on ports of its own, with RevenueCat's stand-in and clients.
struct BillingFixture: Sendable {
  static let secret = "Bearer planted-webhook-secret"

  let revenueCat: FakeRevenueCat
  let database: BrokerDatabase
  let clock: VirtualClock
  let log: CapturedLog
  let instance: ServiceInstance
  let channel: ClientChannel
  let http: HTTPClient
  let base: String

  var now: Instant { Instant(seconds: 0).advanced(by: clock.wall) }
  func at(_ seconds: Int64) -> Instant { BillingHistoryTests.at(seconds) }

  /// Starts a service for the length of `body`.
  static func with(
    _ database: BrokerDatabase? = nil, clock: VirtualClock = VirtualClock(), log: CapturedLog = CapturedLog(),
    settings changes: [String: String?] = [:], _ body: @escaping @Sendable (BillingFixture) async throws -> Void
  ) async throws {
    guard let database else {
      return try await BrokerDatabase.with { try await with($0, clock: clock, log: log, settings: changes, body) }
    }
    try await makeAccounts([BillingHistoryTests.ana, BillingHistoryTests.ben], in: database)
    try await withLoops(1) { group in
      let revenueCat = FakeRevenueCat(clock)
      let authority = TestAuthority()
      let (server, url) = try revenueCat.serve(on: group, authority)
      let result: Result<Void, any Error>
      do { result = .success(try await run(database, revenueCat, url, authority, clock, log, changes, body)) } catch {
        result = .failure(error)
      }
      revenueCat.release()
      await server.drain(within: .seconds(2))
      try result.get()
    }
  }

  /// Makes accounts: only who has one has a subscription.
  static func makeAccounts(_ users: [UserID], in database: BrokerDatabase) async throws {
    let values = users.map { "('\($0)', 'default', 'google', 'Ana', false, false, now())" }.joined(separator: ",")
    try await database.script(
      """
      insert into auth.account (user_id, app, provider, name, email_is_verified, email_is_private, created_at) values \(values)
      on conflict do nothing
      """)
  }

  private static func run(
    _ database: BrokerDatabase, _ revenueCat: FakeRevenueCat, _ url: String, _ authority: TestAuthority, _ clock: VirtualClock,
    _ log: CapturedLog, _ changes: [String: String?], _ body: @escaping @Sendable (BillingFixture) async throws -> Void
  ) async throws {
    let leaf = authority.server()
    for (name, bytes) in [("ca", authority.certificate), ("cert", leaf.certificateChain), ("key", leaf.privateKey)] {
      try write(bytes, to: "\(database.directory)/\(name).pem")
    }
    var environment: [String: String] = [
      "PARLEY_AUTH_LISTEN": "127.0.0.1:0", "PARLEY_AUTH_TLS_LISTEN": "127.0.0.1:0",
      "PARLEY_AUTH_TLS_CERTIFICATE": "\(database.directory)/cert.pem", "PARLEY_AUTH_TLS_KEY": "\(database.directory)/key.pem",
      "PARLEY_AUTH_DATABASE_URL": database.servingURL, "PARLEY_AUTH_LOOPS": "2", "PARLEY_AUTH_LOG_LEVEL": "trace",
      "PARLEY_AUTH_DRAIN_TIMEOUT": "2s", "PARLEY_AUTH_OUTBOUND_CA_FILE": "\(database.directory)/ca.pem",
      "PARLEY_AUTH_REVENUECAT_API_KEY": FakeRevenueCat.key, "PARLEY_AUTH_REVENUECAT_WEBHOOK_SECRET": secret,
      "PARLEY_AUTH_REVENUECAT_URL": url, "PARLEY_AUTH_REVENUECAT_ENTITLEMENTS": "pro",
      // A slow machine must not look like a slow RevenueCat.
      "PARLEY_AUTH_REVENUECAT_CHECK_TIMEOUT": "30s", "PARLEY_AUTH_REVENUECAT_TIMEOUT": "60s",
    ]
    environment.merge(changes.compactMapValues(\.self)) { $1 }
    for (name, value) in changes where value == nil { environment[name] = nil }
    let settings = try Settings(
      service: "auth", keys: BillingService.configuration + StandardKeys.all(database: true), environment: environment)
    let instance = try await ServiceInstance.start(
      BillingService.self, settings: settings, log: log.logger, clock: WallClock { clock.wall })
    let serving = Task { try await instance.run() }
    let outcome = await Task { () async -> Result<Void, any Error> in
      do {
        try await eventually { instance.health.isServing }
        try await withLoops(1) { group in
          var configuration = HTTPClientConfiguration()
          configuration.caFile = "\(database.directory)/ca.pem"
          let http = try HTTPClient(
            loops: group.loops, configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
          let channel = ClientChannel(to: .host("127.0.0.1", port: instance.addresses.grpc?.port ?? 0), on: group)
          let fixture = BillingFixture(
            revenueCat: revenueCat, database: database, clock: clock, log: log, instance: instance, channel: channel, http: http,
            base: "https://127.0.0.1:\(instance.addresses.tls?.port ?? 0)")
          let result = await Task(executorPreference: group.loops[0]) { () async -> Result<Void, any Error> in
            let result: Result<Void, any Error>
            do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
            await channel.close()
            return result
          }.value
          await http.shutDown()
          try result.get()
        }
        return .success(())
      } catch { return .failure(error) }
    }.value
    revenueCat.release()
    instance.stop()
    try await serving.value
    try outcome.get()
  }

  private static func write(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0, Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw TimedOut("a file that could be made")
    }
    close(descriptor)
  }

  // MARK: Calls

  private func options(_ user: UserID) -> CallOptions {
    CallOptions(metadata: ["authorization": "Bearer \(user)"], deadline: .after(.seconds(40)))
  }

  func get(_ user: UserID) async throws -> Entitlement {
    let response = try await EntitlementService.Client(channel).getEntitlement(options: options(user))
    return response.entitlement ?? Entitlement()
  }

  func sync(_ user: UserID) async throws -> Entitlement {
    let response = try await EntitlementService.Client(channel).syncEntitlement(options: options(user))
    return response.entitlement ?? Entitlement()
  }

  func link(_ customer: String, to user: UserID) async throws(RPCError) -> Entitlement {
    let response = try await EntitlementService.Client(channel)
      .linkCustomer(.init(originalAppUserID: customer), options: options(user))
    return response.entitlement ?? Entitlement()
  }

  func check(_ user: UserID) async throws(RPCError) -> CheckEntitlementResponse {
    try await EntitlementDirectoryService.Client(channel).checkEntitlement(
      .init(userID: user.description), options: options(user))
  }

  /// Posts a webhook as RevenueCat does.
  func post(_ event: JSONObject, authorization: [String] = [secret]) async throws -> HTTPResponse {
    try await post(body: (["api_version": "1.0", "event": .object(event)] as JSONValue).encoded(), authorization: authorization)
  }

  func post(body: [UInt8], authorization: [String] = [secret], method: HTTPMethod = .post) async throws -> HTTPResponse {
    var request = HTTPRequest(method, base + "/webhooks/revenuecat", headers: ["Content-Type": "application/json"], body: body)
    for value in authorization { request.headers.add("Authorization", value) }
    return try await http.send(request)
  }

  /// A request of the first app.
  func put(_ path: String, _ body: String, as user: UserID?) async throws -> HTTPResponse {
    var request = HTTPRequest(.put, base + path, headers: ["Content-Type": "application/json"], body: Array(body.utf8))
    if let user { request.headers.add("Authorization", "Bearer \(user)") }
    return try await http.send(request)
  }

  /// An event of the account's (or of these customers), as RevenueCat writes it.
  func event(
    _ id: String, _ type: String, at moment: Instant, of customers: [String], ends: Instant? = nil, reason: String? = nil
  ) -> JSONObject {
    func milliseconds(_ moment: Instant?) -> JSONValue { moment.map { .number(JSONNumber($0.microseconds / 1000)) } ?? .null }
    var event: JSONObject = [
      "id": .string(id), "type": .string(type), "app_user_id": .string(customers[0]),
      "original_app_user_id": .string(customers[customers.count - 1]), "aliases": .array(customers.map { .string($0) }),
      "product_id": "monthly", "entitlement_ids": ["pro"], "period_type": "NORMAL", "environment": "PRODUCTION",
      "event_timestamp_ms": milliseconds(moment), "expiration_at_ms": milliseconds(ends), "store": "APP_STORE",
    ]
    if let reason { event["cancel_reason"] = .string(reason) }
    return event
  }

  /// Waits until nobody is left that RevenueCat is still to be asked about.
  func settled() async throws {
    try await eventually {
      let waiting: Int? = try? await database.value("select count(*) from auth.entitlement where reread_due_at is not null")
      return waiting == 0
    }
  }
}
