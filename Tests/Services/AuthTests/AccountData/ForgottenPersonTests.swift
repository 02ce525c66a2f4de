import AuthDomain
import EventLoop
import JSON
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCServer
import Synchronization
import TestSupport
import Testing
import Values

/// Auth with billing and Apple, over one database that outlives its restarts.
private struct ForgettingWorld: Sendable {
  static let secret = "Bearer planted-webhook-secret"
  /// An id that an app of before gave the person, which happens to be a UUID.
  static let foreign = "6b1e1bfa-30c5-4a53-9d3c-1f6b0c6a7e11"
  static let anonymous = "$RCAnonymousID:a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9"

  let service: BrokerFixture
  let revenueCat: FakeRevenueCat

  static func running(
    _ database: BrokerDatabase, _ clock: VirtualClock, _ body: @escaping @Sendable (ForgettingWorld) async throws -> Void
  ) async throws {
    try await withLoops(1) { group in
      let revenueCat = FakeRevenueCat(clock)
      let authority = TestAuthority()
      let (server, url) = try revenueCat.serve(on: group, authority)
      let caFile = "\(database.directory)/revenuecat.pem"
      try BrokerFixture.write(authority.certificate, to: caFile)
      let settings = BrokerFixture.appleAudience.merging([
        "PARLEY_AUTH_OUTBOUND_CA_FILE": caFile, "PARLEY_AUTH_REVENUECAT_URL": url,
        "PARLEY_AUTH_REVENUECAT_API_KEY": FakeRevenueCat.key, "PARLEY_AUTH_REVENUECAT_WEBHOOK_SECRET": secret,
        "PARLEY_AUTH_REVENUECAT_ENTITLEMENTS": "pro", "PARLEY_AUTH_REVENUECAT_CHECK_TIMEOUT": "30s",
        "PARLEY_AUTH_REVENUECAT_TIMEOUT": "60s", "PARLEY_AUTH_JOBS_POLL": "20ms", "PARLEY_AUTH_JOBS_LEASE": "600s",
        "PARLEY_AUTH_APPLE_NOTIFICATIONS_BURST": "1000",
      ]) { $1 }
      let result: Result<Void, any Error>
      do {
        result = .success(
          try await BrokerFixture.with(database, clock: clock, settings: settings) { service in
            try await body(ForgettingWorld(service: service, revenueCat: revenueCat))
          })
      } catch { result = .failure(error) }
      revenueCat.release()
      await server.drain(within: .seconds(2))
      try result.get()
    }
  }

  /// Posts an event of RevenueCat's.
  func post(_ event: JSONObject) async throws {
    let body: JSONValue = ["api_version": "1.0", "event": .object(event)]
    let response = try await service.http.send(
      HTTPRequest(
        .post, service.base + "/webhooks/revenuecat",
        headers: ["Content-Type": "application/json", "Authorization": Self.secret], body: body.encoded()))
    guard response.status == 200 else { throw TestFailure("\(event["id"] ?? .null): \(response.status) \(response.text ?? "")") }
  }

  /// One event of every kind that RevenueCat sends about customers, in every way in which it may name them.
  func events(_ round: String, of user: String, beside other: String, at moment: Instant) -> [JSONObject] {
    let types = [
      "TEST", "INITIAL_PURCHASE", "RENEWAL", "CANCELLATION", "UNCANCELLATION", "NON_RENEWING_PURCHASE", "SUBSCRIPTION_PAUSED",
      "EXPIRATION", "BILLING_ISSUE", "PRODUCT_CHANGE", "SUBSCRIPTION_EXTENDED", "TEMPORARY_ENTITLEMENT_GRANT", "REFUND_REVERSED",
      "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION", "EXPERIMENT_ENROLLMENT", "SUBSCRIBER_ALIAS", "A_TYPE_OF_TOMORROW",
    ]
    let whole = [user, Self.anonymous, Self.foreign]
    let namings = [whole, whole.reversed(), [Self.anonymous], [Self.foreign], [other, user, Self.anonymous]]
    let milliseconds = JSONValue.number(JSONNumber(moment.microseconds / 1000))
    var events: [JSONObject] = []
    for type in types {
      for (number, ids) in namings.enumerated() {
        events.append([
          "id": .string("\(round)-\(type)-\(number)"), "type": .string(type), "app_user_id": .string(ids[0]),
          "original_app_user_id": .string(ids[ids.count - 1]), "aliases": .array(ids.map { .string($0) }),
          "product_id": "monthly", "entitlement_ids": ["pro"], "period_type": "NORMAL", "environment": "PRODUCTION",
          "event_timestamp_ms": milliseconds, "expiration_at_ms": .number(JSONNumber(moment.microseconds / 1000 + 86_400_000)),
          "subscriber_attributes": ["$email": ["value": "ana@example.org", "updated_at_ms": milliseconds]],
        ])
      }
    }
    let handed: [(from: [String], to: [String])] = [
      (whole, [other]), ([Self.anonymous], [other]), ([other], whole), (whole, [Self.anonymous]), ([user], ["nobody-of-ours"]),
    ]
    for (number, (from, to)) in handed.enumerated() {
      events.append([
        "id": .string("\(round)-TRANSFER-\(number)"), "type": "TRANSFER", "event_timestamp_ms": milliseconds,
        "transferred_from": .array(from.map { .string($0) }), "transferred_to": .array(to.map { .string($0) }),
        "environment": "PRODUCTION",
      ])
    }
    return events
  }

  /// Has Apple tell everything that it tells, twice.
  func tell(_ round: String) async throws {
    for word in ["email-enabled", "email-disabled", "consent-revoked", "account-delete", "account-deleted", "of-tomorrow"] {
      for _ in 0..<2 {
        let notice = try service.notice(
          word, id: "\(round)-\(word)", ["email": "ana@example.org", "is_private_email": "true"])
        let response = try await service.deliver(notice)
        guard response.status == 200 else { throw TestFailure("\(word): \(response.status)") }
      }
    }
  }
}

@Suite("People who are gone stay gone", .serialized)
struct ForgottenPersonTests {
  /// What a deletion leaves of the account's id, and says so: what was done stays provable, and the receipt can be answered.
  private static let kept: Set<String> = [
    "account_work.user_id", "account_work_count.user_id", "account_work_step.user_id", "activity.user_id",
    "deletion_receipt_lookup.user_id", "session.user_id", "session_lookup.user_id",
  ]

  @Test(
    "No webhook of RevenueCat's or Apple's, late, twice, after a restart, leaves a byte that names somebody who was deleted (AF-01)"
  )
  func webhooks() async throws {
    try await BrokerDatabase.with { database in
      let search = try await SchemaSearch(database)
      let clock = VirtualClock()
      let people = Mutex<(user: String, other: String)>(("", ""))
      try await ForgettingWorld.running(database, clock) { world in
        let service = world.service
        let ana = try await service.appleSignIn()
        let ben = try await service.appleSignIn("ben")
        let user = try await Self.id(service, ana)
        let other = try await Self.id(service, ben)
        people.withLock { $0 = (user, other) }
        // A customer of some history, with ids of three kinds, whose purchases were handed to somebody else and came back.
        let ids = [user, ForgettingWorld.anonymous, ForgettingWorld.foreign]
        world.revenueCat.know(ids, entitlements: [("pro", "monthly", service.now.advanced(by: .seconds(86_400)))])
        for event in world.events("before", of: user, beside: "$RCAnonymousID:of-nobody", at: service.now) {
          try await world.post(event)
        }
        try await world.post([
          "id": "before-shared", "type": "TRANSFER", "transferred_from": [.string(user)], "transferred_to": [.string(other)],
          "event_timestamp_ms": .number(JSONNumber(service.now.microseconds / 1000)),
        ])
        clock.advance(by: .seconds(1))
        _ = try await EntitlementService.Client(service.channel).syncEntitlement(
          options: service.from("192.0.2.1", ana.accessToken))
        let before = try await search.places(of: [user, "000.ana.1", "ana@example.org", ForgettingWorld.anonymous])
        #expect(before.count > 10, "the search finds nothing: \(before)")

        let receipt = try await service.deleteAccount(ana.accessToken).receipt
        // Some of them come between the receipt and the end of the work.
        for event in world.events("between", of: user, beside: other, at: service.now) { try await world.post(event) }
        try await world.tell("between")
        #expect(try await service.deleted(receipt).state == .done)
        try await Self.expectForgotten(search, user, "right after the deletion")
        try await Self.deliver(world, database, user, other, "late")
        try await Self.expectForgotten(search, user, "after late webhooks")
      }
      try await ForgettingWorld.running(database, clock) { world in
        let (user, other) = people.withLock { $0 }
        for round in ["before", "late", "restarted"] { try await Self.deliver(world, database, user, other, round) }
        try await Self.expectForgotten(search, user, "after a restart")
        // What is kept of an event for nobody is its id and its type.
        let rows: [String] = try await database.values(
          """
          select distinct concat_ws('|', customers, transferred_from, transferred_to, product_id, entitlements, expires_at, period,
            reason, length(body)) from auth.webhook_event where event_id like 'restarted-%-3' and type <> 'TRANSFER'
          """)
        #expect(rows == ["{}|{}|{}||{}|||0"])
        // The other one is there, and pays.
        let ben = try await world.service.appleSignIn("ben")
        #expect(try await Self.id(world.service, ben) == other)
      }
    }
  }

  @Test("An answer of RevenueCat's that comes when the account is gone leaves nothing of it (AF-01)")
  func lateAnswer() async throws {
    try await BrokerDatabase.with { database in
      let search = try await SchemaSearch(database)
      try await ForgettingWorld.running(database, VirtualClock()) { world in
        let service = world.service
        let ana = try await service.appleSignIn()
        let user = try await Self.id(service, ana)
        world.revenueCat.know(
          [ForgettingWorld.anonymous, user], entitlements: [("pro", "monthly", service.now.advanced(by: .seconds(86_400)))])
        world.revenueCat.fail(.hang)
        try await world.post(world.events("before", of: user, beside: "x", at: service.now)[5])
        try await world.revenueCat.hanging.wait()
        let receipt = try await service.deleteAccount(ana.accessToken).receipt
        #expect(try await service.deleted(receipt).state == .done)
        world.revenueCat.release()
        try await eventually {
          let rows = try? await database.value("select count(*) from auth.entitlement", as: Int64.self)
          return rows == 1 || service.log.all.contains { $0.contains("RevenueCat's answer is about nobody") }
        }
        try await Self.expectForgotten(search, user, "after the answer")
      }
    }
  }

  private static func deliver(
    _ world: ForgettingWorld, _ database: BrokerDatabase, _ user: String, _ other: String, _ round: String
  ) async throws {
    // Somebody else has the customer now, whose first ids are those of whoever is gone.
    world.revenueCat.know([ForgettingWorld.anonymous, user, ForgettingWorld.foreign, other])
    for event in world.events(round, of: user, beside: other, at: world.service.now) {
      for _ in 0..<2 { try await world.post(event) }
    }
    try await world.tell(round)
    // Whoever is still to be asked about is asked about.
    try await eventually {
      world.service.clock.advance(by: .seconds(2))
      let waiting = try? await database.value(
        "select count(*) from auth.entitlement where reread_due_at is not null", as: Int64.self)
      return waiting == 0
    }
  }

  private static func id(_ service: BrokerFixture, _ tokens: SessionTokens) async throws -> String {
    try await service.auth.getProfile(options: service.from("192.0.2.1", tokens.accessToken)).profile?.userID ?? ""
  }

  private static func expectForgotten(_ search: SchemaSearch, _ user: String, _ when: String) async throws {
    let names = try await search.places(
      of: ["000.ana.1", "ana@example.org", ForgettingWorld.anonymous, ForgettingWorld.foreign])
    #expect(names == [], "\(when): \(names)")
    let ids = try await search.places(of: [user])
    let columns = Set(ids.map { String($0.prefix { $0 != ":" }) })
    #expect(columns.subtracting(kept) == [], "\(when): \(ids)")
  }
}
