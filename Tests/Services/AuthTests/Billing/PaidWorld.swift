import AuthDomain
import DemoService
import EventLoop
import JSON
import Outbound
import ParleyAPI
import RPC
import RPCClient
import RPCServer
import ServiceKit
import TestAPI
import TestSupport
import Values

/// The first app's world up to the paywall: the auth service, RevenueCat, and a second service that serves those who pay.
struct PaidWorld: Sendable {
  static let secret = "Bearer planted-webhook-secret"

  let service: BrokerFixture
  let database: BrokerDatabase
  let revenueCat: FakeRevenueCat
  /// The second service, over gRPC.
  let paid: PaidService.Client
  /// Where it answers HTTP and Connect.
  let address: String

  var now: Instant { service.now }

  /// Starts everything for the length of `body`.
  static func with(
    _ changes: [String: String] = [:], costs: CallCosts? = nil, _ body: @escaping @Sendable (PaidWorld) async throws -> Void
  ) async throws {
    try await BrokerDatabase.with { database in
      let clock = VirtualClock()
      try await withLoops(1) { group in
        let revenueCat = FakeRevenueCat(clock)
        let authority = TestAuthority()
        let (server, url) = try revenueCat.serve(on: group, authority)
        let caFile = "\(database.directory)/revenuecat.pem"
        try BrokerFixture.write(authority.certificate, to: caFile)
        let settings = BrokerFixture.appleAudience.merging([
          "PARLEY_AUTH_OUTBOUND_CA_FILE": caFile, "PARLEY_AUTH_REVENUECAT_URL": url,
          "PARLEY_AUTH_REVENUECAT_API_KEY": FakeRevenueCat.key, "PARLEY_AUTH_REVENUECAT_WEBHOOK_SECRET": secret,
          "PARLEY_AUTH_REVENUECAT_ENTITLEMENTS": "pro",
          // A slow machine must not look like a slow RevenueCat.
          "PARLEY_AUTH_REVENUECAT_CHECK_TIMEOUT": "4s", "PARLEY_AUTH_REVENUECAT_TIMEOUT": "60s",
        ]) { $1 }.merging(changes) { $1 }
        let result: Result<Void, any Error>
        do {
          result = .success(
            try await BrokerFixture.with(database, clock: clock, settings: settings, costs: costs) { service in
              try await serve(service, database, revenueCat, body)
            })
        } catch { result = .failure(error) }
        revenueCat.release()
        await server.drain(within: .seconds(2))
        try result.get()
      }
    }
  }

  private static func serve(
    _ service: BrokerFixture, _ database: BrokerDatabase, _ revenueCat: FakeRevenueCat,
    _ body: @escaping @Sendable (PaidWorld) async throws -> Void
  ) async throws {
    let folder = database.directory
    let environment = [
      "LISTEN": "127.0.0.1:0", "TLS_LISTEN": "127.0.0.1:0", "TLS_CERTIFICATE": "\(folder)/cert.pem",
      "TLS_KEY": "\(folder)/key.pem", "LOOPS": "1", "DRAIN_TIMEOUT": "2s", "AUTH_ADDRESS": service.base,
      "OUTBOUND_CA_FILE": "\(folder)/ca.pem", "AUTH_CLIENT_CERTIFICATE": "\(folder)/peer.pem",
      "AUTH_CLIENT_KEY": "\(folder)/peer-key.pem",
    ]
    let settings = try Settings(
      service: "demo", keys: DemoService.configuration + StandardKeys.all(database: false),
      environment: Dictionary(uniqueKeysWithValues: environment.map { ("PARLEY_DEMO_" + $0.key, $0.value) }))
    let clock = service.clock
    let instance = try await ServiceInstance.start(
      DemoService.self, settings: settings, log: service.log.logger, clock: WallClock { clock.wall })
    let serving = Task { try await instance.run() }
    let channel = ClientChannel(to: .host("127.0.0.1", port: instance.addresses.grpc?.port ?? 0), on: service.loops)
    let result: Result<Void, any Error>
    do {
      let world = PaidWorld(
        service: service, database: database, revenueCat: revenueCat, paid: PaidService.Client(channel),
        address: "https://127.0.0.1:\(instance.addresses.tls?.port ?? 0)")
      result = .success(try await body(world))
    } catch { result = .failure(error) }
    await channel.close()
    instance.stop()
    try await serving.value
    try result.get()
  }

  // MARK: The app's steps

  /// Signs in with Apple, for the account's id and tokens.
  func signIn(_ name: String) async throws -> (user: String, tokens: SessionTokens) {
    let tokens = try await service.appleSignIn(name)
    let profile = try await service.auth.getProfile(options: service.from("192.0.2.1", tokens.accessToken)).profile
    return (profile?.userID ?? "", tokens)
  }

  /// What the app's customer has after a purchase.
  func purchase(as ids: [String]) {
    revenueCat.know(ids, entitlements: [("pro", "monthly", now.advanced(by: .seconds(7 * 86_400)))])
  }

  /// RevenueCat posts that these bought something.
  func webhook(_ id: String, of customers: [String]) async throws -> Int {
    let event: JSONObject = [
      "id": .string(id), "type": "INITIAL_PURCHASE", "app_user_id": .string(customers[0]),
      "original_app_user_id": .string(customers[0]), "aliases": .array(customers.map { .string($0) }), "product_id": "monthly",
      "entitlement_ids": ["pro"], "period_type": "NORMAL", "environment": "PRODUCTION", "store": "APP_STORE",
      "event_timestamp_ms": .number(JSONNumber(now.microseconds / 1000)),
      "expiration_at_ms": .number(JSONNumber(now.microseconds / 1000 + 7 * 86_400_000)),
    ]
    let body: JSONValue = ["api_version": "1.0", "event": .object(event)]
    return try await service.http.send(
      HTTPRequest(
        .post, service.base + "/webhooks/revenuecat",
        headers: ["Content-Type": "application/json", "Authorization": Self.secret], body: body.encoded())
    ).status
  }

  func link(_ customer: String, _ tokens: SessionTokens) async -> String {
    await ending { () async throws(RPCError) in
      try await EntitlementService.Client(service.channel).linkCustomer(
        .init(originalAppUserID: customer), options: service.from("192.0.2.1", tokens.accessToken))
    }
  }

  // MARK: What is behind the paywall

  /// How the second service answers over gRPC.
  func read(_ tokens: SessionTokens?) async -> (ending: String, error: RPCError?) {
    do throws(RPCError) {
      _ = try await paid.read(.init(), options: service.from("192.0.2.1", tokens?.accessToken))
      return ("OK", nil)
    } catch { return ("\(error.code.name) \(error.reason ?? "")", error) }
  }

  /// The same over plain HTTP.
  func get(_ tokens: SessionTokens?) async throws -> HTTPResponse {
    var request = HTTPRequest(.get, address + "/paid")
    if let tokens { request.headers.add("Authorization", "Bearer \(tokens.accessToken)") }
    return try await service.http.send(request)
  }

  /// The same as Connect JSON.
  func connect(_ tokens: SessionTokens?) async throws -> HTTPResponse {
    var request = HTTPRequest(
      .post, address + "/parley.testing.v1.PaidService/Read",
      headers: ["Content-Type": "application/json", "Connect-Protocol-Version": "1"], body: Array("{}".utf8))
    if let tokens { request.headers.add("Authorization", "Bearer \(tokens.accessToken)") }
    return try await service.http.send(request)
  }
}
