import AuthAPI
import AuthDomain
import JSON
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import TestSupport
import Testing
import Values
import WellKnown

@Suite("Entitlements", .serialized)
struct BillingServiceTests {
  static let ana = BillingHistoryTests.ana
  static let ben = BillingHistoryTests.ben
  static let anonymous = "$RCAnonymousID:5c2a/ü"

  // MARK: The webhook

  @Test("B-50: an event opens what it grants at once, RevenueCat is asked afterwards, and a repetition is told apart")
  func webhook() async throws {
    try await BillingFixture.with { billing in
      let ends = billing.at(30 * 86_400)
      billing.revenueCat.fail(.hang)
      let event = billing.event("E1", "INITIAL_PURCHASE", at: billing.now, of: [Self.ana.description], ends: ends)
      let first = try await billing.post(event)
      #expect(first.status == 200 && first.text == #"{"success":true,"message":"taken"}"#)
      let provisional = try await billing.get(Self.ana)
      #expect(
        provisional.status == .active && provisional.isEntitled && provisional.willRenew && provisional.productID == "monthly")
      #expect(provisional.expiresAt?.seconds == ends.seconds && provisional.customerID == Self.ana.description)
      // What RevenueCat's own record says outweighs what the event said.
      try await billing.revenueCat.hanging.wait()
      billing.revenueCat.know([Self.ana.description], entitlements: [("pro", "monthly", billing.at(9000))], isUnsubscribed: true)
      billing.clock.advance(by: .seconds(1))
      billing.revenueCat.release()
      try await billing.settled()
      let settled = try await billing.get(Self.ana)
      #expect(settled.expiresAt?.seconds == billing.at(9000).seconds && !settled.willRenew)
      #expect(settled.managementURL == "https://apps.apple.com/account/subscriptions")
      let second = try await billing.post(event)
      #expect(second.status == 200 && second.text == #"{"success":true,"message":"blocked"}"#)
      #expect(billing.revenueCat.asked == [Self.ana.description])
      #expect(billing.revenueCat.authorizations == ["Bearer \(FakeRevenueCat.key)"])
      #expect(!billing.log.all.contains { $0.contains("planted") })
    }
  }

  @Test("B-50: the whole Authorization value counts: missing 400, wrong 401, no secret set 500; nothing of it is stored")
  func authorization() async throws {
    try await BrokerDatabase.with { database in
      try await BillingFixture.with(database) { billing in
        let event = billing.event("E1", "RENEWAL", at: billing.now, of: [Self.ana.description], ends: billing.at(9000))
        let wrong = [
          "planted-webhook-secret", "bearer planted-webhook-secret", "Bearer planted-webhook-secre",
          "Bearer planted-webhook-secret2", "Bearer  planted-webhook-secret",
        ]
        for value in wrong {
          let response = try await billing.post(event, authorization: [value])
          #expect(response.status == 401)
        }
        let twice = try await billing.post(event, authorization: [BillingFixture.secret, BillingFixture.secret])
        #expect(twice.status == 401)
        let none = try await billing.post(event, authorization: [])
        #expect(none.status == 400)
        let got = try await billing.post(body: [], method: .put)
        #expect(got.status == 405)
      }
      try await BillingFixture.with(database, settings: ["PARLEY_AUTH_REVENUECAT_WEBHOOK_SECRET": nil]) { billing in
        let event = billing.event("E1", "RENEWAL", at: billing.now, of: [Self.ana.description])
        let response = try await billing.post(event)
        #expect(response.status == 500)
      }
      let events: Int? = try await database.value("select count(*) from auth.webhook_event")
      #expect(events == 0)
    }
  }

  @Test("B-50: an event without a customer is 400 but for a transfer, and one of an unknown type is kept and changes nothing")
  func odd() async throws {
    try await BillingFixture.with { billing in
      var nobody = billing.event("E1", "RENEWAL", at: billing.now, of: [Self.ana.description])
      nobody["app_user_id"] = nil
      let refused = try await billing.post(nobody)
      #expect(refused.status == 400)
      let garbage = try await billing.post(body: Array("{".utf8))
      #expect(garbage.status == 400)
      let transfer: JSONObject = [
        "id": "E2", "type": "TRANSFER", "event_timestamp_ms": 1, "transferred_from": ["x"], "transferred_to": ["y"],
      ]
      let taken = try await billing.post(transfer)
      #expect(taken.status == 200)
      let tomorrow = billing.event("E3", "OF_TOMORROW", at: billing.now, of: [Self.ana.description], ends: billing.at(9000))
      let response = try await billing.post(tomorrow)
      #expect(response.status == 200 && response.text?.contains("not handled") == true)
      let found = try await billing.get(Self.ana)
      #expect(found.status == .unspecified && !found.isEntitled)
      let bodies: [[UInt8]] = try await billing.database.values("select body from auth.webhook_event where event_id = 'E3'")
      #expect(bodies == [(["api_version": "1.0", "event": .object(tomorrow)] as JSONValue).encoded()])
    }
  }

  @Test("B-50: many copies of one event at once are taken once")
  func atOnce() async throws {
    try await BillingFixture.with { billing in
      let event = billing.event("E1", "INITIAL_PURCHASE", at: billing.now, of: [Self.ana.description], ends: billing.at(9000))
      let answers = try await withThrowingTaskGroup(of: String.self) { tasks in
        for _ in 0..<12 { tasks.addTask { try await billing.post(event).text ?? "" } }
        return try await tasks.reduce(into: []) { $0.append($1) }
      }
      #expect(answers.count { $0.contains("taken") } == 1 && answers.count { $0.contains("blocked") } == 11)
    }
  }

  @Test("B-50: what RevenueCat could not be asked waits through a restart and is asked again")
  func durable() async throws {
    try await BrokerDatabase.with { database in
      let clock = VirtualClock()
      try await BillingFixture.with(database, clock: clock) { billing in
        billing.revenueCat.fail(.status(401, #"{"code":7225,"message":"planted"}"#))
        _ = try await billing.post(billing.event("E1", "EXPIRATION", at: billing.now, of: [Self.ana.description]))
        try await eventually { billing.log.all.contains { $0.contains("RevenueCat is to be asked again") } }
        let found = try await billing.get(Self.ana)
        #expect(!found.isEntitled)
      }
      let due: Int? = try await database.value("select count(*) from auth.entitlement where reread_due_at is not null")
      #expect(due == 1)
      clock.advance(by: .seconds(4000))
      try await BillingFixture.with(database, clock: clock) { billing in
        billing.revenueCat.know([Self.ana.description], entitlements: [("pro", "monthly", billing.at(90_000))])
        try await billing.settled()
        #expect(!billing.revenueCat.asked.isEmpty)
        // It may have been asked before the line above.
        let found = try await billing.sync(Self.ana)
        #expect(found.isEntitled)
      }
    }
  }

  // MARK: Purchase before the account

  @Test("B-50 B-54: bought anonymously, the webhook never comes: the first check asks RevenueCat, once for all who wait")
  func never() async throws {
    try await BillingFixture.with { billing in
      billing.revenueCat.know([Self.anonymous, Self.ana.description], entitlements: [("pro", "monthly", billing.at(9000))])
      billing.revenueCat.fail(.hang)
      async let answers = withThrowingTaskGroup(of: Bool.self) { tasks in
        for _ in 0..<8 { tasks.addTask { try await billing.check(Self.ana).isEntitled } }
        return try await tasks.reduce(into: []) { $0.append($1) }
      }
      try await billing.revenueCat.hanging.wait()
      billing.revenueCat.release()
      let found = try await answers
      #expect(found == Array(repeating: true, count: 8))
      // Those that came after the answer found it in the database.
      #expect(billing.revenueCat.asked == [Self.ana.description])
      let entitlement = try await billing.get(Self.ana)
      #expect(entitlement.customerID == Self.anonymous)
    }
  }

  @Test(
    "B-50: bought anonymously, the webhooks come before and after the account: of the first nothing is kept, and RevenueCat's own record opens what was paid for"
  )
  func late() async throws {
    try await BillingFixture.with { billing in
      let bought = billing.event("E1", "INITIAL_PURCHASE", at: billing.now, of: [Self.anonymous], ends: billing.at(9000))
      _ = try await billing.post(bought)
      let before = try await billing.get(Self.ana)
      #expect(!before.isEntitled)
      let kept: [Int32] = try await billing.database.values(
        "select cardinality(all_customers) + length(body) from auth.webhook_event")
      #expect(kept == [0])
      billing.revenueCat.know([Self.anonymous, Self.ana.description], entitlements: [("pro", "monthly", billing.at(9000))])
      let alias = billing.event("E2", "SUBSCRIBER_ALIAS", at: billing.at(5), of: [Self.anonymous, Self.ana.description])
      _ = try await billing.post(alias)
      try await billing.settled()
      let after = try await billing.get(Self.ana)
      #expect(after.isEntitled)
      // From here on the anonymous customer's events are the account's, in whatever order they come.
      billing.revenueCat.fail(.hang)
      _ = try await billing.post(
        billing.event("E4", "EXPIRATION", at: billing.at(300), of: [Self.anonymous], ends: billing.at(300)))
      _ = try await billing.post(
        billing.event("E3", "RENEWAL", at: billing.at(200), of: [Self.anonymous], ends: billing.at(90_000)))
      let over = try await billing.get(Self.ana)
      #expect(over.expiresAt?.seconds == billing.at(300).seconds)
    }
  }

  // MARK: The check

  @Test("B-54: without a subscription the answer is no, and RevenueCat is not asked again before the pause is over")
  func pause() async throws {
    try await BillingFixture.with(settings: ["PARLEY_AUTH_ENTITLEMENT_PAUSE": "5s"]) { billing in
      for _ in 0..<3 {
        let answer = try await billing.check(Self.ana)
        #expect(!answer.isEntitled && answer.validUntil?.seconds == billing.now.seconds)
      }
      #expect(billing.revenueCat.asked.count == 1)
      billing.revenueCat.know([Self.ana.description], entitlements: [("pro", "monthly", billing.at(9000))])
      billing.clock.advance(by: .milliseconds(4999))
      let early = try await billing.check(Self.ana)
      #expect(!early.isEntitled && billing.revenueCat.asked.count == 1)
      billing.clock.advance(by: .milliseconds(1))
      let answer = try await billing.check(Self.ana)
      #expect(answer.isEntitled && billing.revenueCat.asked.count == 2)
    }
  }

  @Test("A yes is remembered for its time and not past the end of the subscription, and an event ends it at once")
  func memory() async throws {
    try await BillingFixture.with(settings: ["PARLEY_AUTH_ENTITLEMENT_MEMORY": "60s", "PARLEY_AUTH_ENTITLEMENT_PAUSE": "0s"]) {
      billing in
      billing.revenueCat.know([Self.ana.description], entitlements: [("pro", "monthly", billing.at(100))])
      let first = try await billing.check(Self.ana)
      #expect(first.isEntitled && first.validUntil?.seconds == billing.at(60).seconds)
      billing.clock.advance(by: .seconds(60))
      // At the very end of the memory the database is asked again; at the end of the subscription, RevenueCat.
      let second = try await billing.check(Self.ana)
      #expect(second.isEntitled && second.validUntil?.seconds == billing.at(100).seconds)
      #expect(billing.revenueCat.asked.count == 1)
      billing.clock.advance(by: .seconds(40))
      let third = try await billing.check(Self.ana)
      #expect(!third.isEntitled && billing.revenueCat.asked.count == 2)
      // A refund of what is remembered.
      billing.revenueCat.know([Self.ben.description], entitlements: [("pro", "monthly", nil)])
      let paid = try await billing.check(Self.ben)
      #expect(paid.isEntitled)
      billing.revenueCat.know([Self.ben.description])
      billing.clock.advance(by: .seconds(1))
      _ = try await billing.post(
        billing.event("E1", "CANCELLATION", at: billing.now, of: [Self.ben.description], reason: "CUSTOMER_SUPPORT"))
      let refunded = try await billing.check(Self.ben)
      #expect(!refunded.isEntitled)
    }
  }

  @Test("B-49: when nobody can say, nothing is open: neither without RevenueCat nor without the database")
  func failsClosed() async throws {
    try await BillingFixture.with { billing in
      billing.revenueCat.fail(.status(401, "{}"))
      let error = await #expect(throws: RPCError.self) { try await billing.check(Self.ana) }
      #expect(error?.code == .unavailable && error?.reason == "ENTITLEMENT_UNAVAILABLE")
      billing.revenueCat.fail(.none)
      try await billing.database.script("alter table auth.entitlement rename to lost")
      let lost = await #expect(throws: RPCError.self) { try await billing.check(Self.ben) }
      #expect(lost?.code == .unavailable && lost?.reason == "ENTITLEMENT_UNAVAILABLE")
      let old = try await billing.put("/api/settings/subscription-status", #"{"isActive":true,"isEntitled":true}"#, as: Self.ben)
      #expect(old.status == 500)
      let webhook = try await billing.post(billing.event("E1", "RENEWAL", at: billing.now, of: [Self.ana.description]))
      #expect(webhook.status == 503)
      try await billing.database.script("alter table auth.lost rename to entitlement")
      let events: Int? = try await billing.database.value("select count(*) from auth.webhook_event")
      #expect(events == 0)
    }
  }

  @Test("Only the explicit bypass lets everybody in, and it says so loudly")
  func bypass() async throws {
    try await BillingFixture.with(settings: ["PARLEY_AUTH_ENTITLEMENT_BYPASS": "true"]) { billing in
      let answer = try await billing.check(Self.ana)
      #expect(answer.isEntitled && billing.revenueCat.asked.isEmpty)
      #expect(billing.log.all.contains { $0.hasPrefix("critical EVERYBODY COUNTS AS SUBSCRIBED") })
    }
  }

  @Test("An entitlement of another name opens nothing")
  func otherEntitlement() async throws {
    try await BillingFixture.with { billing in
      billing.revenueCat.know([Self.ana.description], entitlements: [("basic", "weekly", nil)])
      let answer = try await billing.check(Self.ana)
      #expect(!answer.isEntitled)
    }
  }

  // MARK: Linking

  @Test("B-55: a customer is linked once RevenueCat names the account among its aliases, and to no second account")
  func linking() async throws {
    try await BillingFixture.with { billing in
      let early = await #expect(throws: RPCError.self) { try await billing.link(Self.anonymous, to: Self.ana) }
      #expect(early?.code == .failedPrecondition && early?.reason == "CUSTOMER_NOT_VERIFIED")
      billing.revenueCat.know([Self.anonymous, Self.ana.description], entitlements: [("pro", "monthly", billing.at(9000))])
      billing.clock.advance(by: .seconds(1))
      let linked = try await billing.link(Self.anonymous, to: Self.ana)
      #expect(linked.isEntitled && linked.customerID == Self.anonymous)
      let again = try await billing.link(Self.anonymous, to: Self.ana)
      #expect(again.isEntitled)
      let stolen = await #expect(throws: RPCError.self) { try await billing.link(Self.anonymous, to: Self.ben) }
      #expect(stolen?.code == .alreadyExists && stolen?.reason == "CUSTOMER_LINKED_ELSEWHERE")
      let named = await #expect(throws: RPCError.self) { try await billing.link(Self.ana.description, to: Self.ben) }
      #expect(named?.reason == "CUSTOMER_LINKED_ELSEWHERE")
      for bad in ["", String(repeating: "a", count: 1501)] {
        let error = await #expect(throws: RPCError.self) { try await billing.link(bad, to: Self.ana) }
        #expect(error?.code == .invalidArgument)
      }
    }
  }

  @Test("B-55: an alias of another account's customer shares nothing of it")
  func sharing() async throws {
    try await BillingFixture.with { billing in
      billing.revenueCat.know(
        [Self.anonymous, Self.ana.description, Self.ben.description], entitlements: [("pro", "monthly", billing.at(9000))])
      let first = try await billing.check(Self.ana)
      #expect(first.isEntitled)
      let second = try await billing.check(Self.ben)
      #expect(!second.isEntitled)
      let synced = try await billing.sync(Self.ben)
      #expect(!synced.isEntitled && synced.customerID == nil)
    }
  }

  @Test("B-55: a transfer hands the customer and what it has to the account that it names, and ends it for the other")
  func transfer() async throws {
    try await BillingFixture.with { billing in
      billing.revenueCat.fail(.hang)
      let ids = [Self.anonymous, Self.ana.description]
      _ = try await billing.post(billing.event("E1", "INITIAL_PURCHASE", at: billing.now, of: ids, ends: billing.at(9000)))
      let transfer: JSONObject = [
        "id": "E2", "type": "TRANSFER", "event_timestamp_ms": .number(JSONNumber(billing.at(100).microseconds / 1000)),
        "transferred_from": .array(ids.map { .string($0) }), "transferred_to": [.string(Self.ben.description)],
        "environment": "PRODUCTION",
      ]
      let response = try await billing.post(transfer)
      #expect(response.status == 200)
      billing.clock.advance(by: .seconds(200))
      let giver = try await billing.get(Self.ana)
      let taker = try await billing.get(Self.ben)
      #expect(!giver.isEntitled && taker.isEntitled && taker.expiresAt?.seconds == billing.at(9000).seconds)
      let owners: [String] = try await billing.database.values(
        "select user_id::text from auth.customer_lookup where customer_id = \(Self.anonymous)")
      #expect(owners == [Self.ben.description])
    }
  }

  // MARK: Limits

  @Test("B-50: a person has RevenueCat asked as often as the limit says, by RPC and by the first app's paths together")
  func limited() async throws {
    let limits = ["PARLEY_AUTH_ENTITLEMENT_SYNC_PER_MIN": "60", "PARLEY_AUTH_ENTITLEMENT_SYNC_BURST": "3"]
    try await BillingFixture.with(settings: limits) { billing in
      let claim = #"{"isActive":true,"isEntitled":true}"#
      let path = "/api/settings/subscription-status"
      _ = try await billing.sync(Self.ana)
      let unverified = await #expect(throws: RPCError.self) { try await billing.link(Self.anonymous, to: Self.ana) }
      #expect(unverified?.reason == "CUSTOMER_NOT_VERIFIED")
      #expect(try await billing.put(path, claim, as: Self.ana).status == 200)
      let asked = billing.revenueCat.asked.count
      let synced = await #expect(throws: RPCError.self) { try await billing.sync(Self.ana) }
      let linked = await #expect(throws: RPCError.self) { try await billing.link(Self.anonymous, to: Self.ana) }
      for error in [synced, linked] {
        #expect(error?.code == .resourceExhausted && error?.reason == "RATE_LIMITED_USER" && error?.retryAfter == .seconds(1))
      }
      let claimed = try await billing.put(path, claim, as: Self.ana)
      #expect(claimed.status == 429 && claimed.headers["retry-after"] == "1")
      #expect(billing.revenueCat.asked.count == asked)
      // What is wrong by itself takes nothing; what is known is told without limit; others have limits of their own.
      let bad = await #expect(throws: RPCError.self) { try await billing.link("", to: Self.ana) }
      #expect(bad?.code == .invalidArgument)
      for _ in 0..<5 { _ = try await billing.get(Self.ana) }
      _ = try await billing.sync(Self.ben)
      billing.clock.advance(by: .seconds(1))
      _ = try await billing.sync(Self.ana)
      let again = await #expect(throws: RPCError.self) { try await billing.sync(Self.ana) }
      #expect(again?.reason == "RATE_LIMITED_USER")
    }
  }

  @Test("Where nobody can say how often a person has asked, RevenueCat is not asked")
  func limiterAway() async throws {
    try await BillingFixture.with { billing in
      try await billing.database.script("alter table auth.rate_limit rename to lost")
      let error = await #expect(throws: RPCError.self) { try await billing.sync(Self.ana) }
      #expect(error?.code == .unavailable && error?.reason == "LIMITER_UNAVAILABLE" && billing.revenueCat.asked.isEmpty)
    }
  }

  // MARK: The first app's paths

  @Test("B-50: the first app's claim is judged and unlocks nothing; a customer that is not verified is 409, a missing one 400")
  func settings() async throws {
    try await BillingFixture.with { billing in
      let (status, customer) = ("/api/settings/subscription-status", "/api/settings/revenuecat-customer-id")
      for body in [
        "", "[]", "{}", #"{"isActive":true}"#, #"{"isActive":"true","isEntitled":true}"#, #"{"isActive":1,"isEntitled":0}"#,
      ] {
        let response = try await billing.put(status, body, as: Self.ana)
        #expect(response.status == 400 && response.text?.contains(#""success":false"#) == true)
      }
      let stranger = try await billing.put(status, #"{"isActive":true,"isEntitled":true}"#, as: nil)
      #expect(stranger.status == 401)
      let claim = try await billing.put(status, #"{"is_active":true,"is_entitled":true}"#, as: Self.ana)
      #expect(claim.status == 200 && claim.text?.contains(#""isActive":false"#) == true)
      let found = try await billing.get(Self.ana)
      #expect(!found.isEntitled && billing.revenueCat.asked.count == 1)
      for body in ["{}", #"{"originalAppUserId":""}"#, #"{"originalAppUserId":5}"#] {
        let response = try await billing.put(customer, body, as: Self.ana)
        #expect(response.status == 400)
      }
      let unverified = try await billing.put(customer, #"{"originalAppUserId":"x"}"#, as: Self.ana)
      #expect(unverified.status == 409)
      billing.revenueCat.know(["x", Self.ana.description], entitlements: [("pro", "monthly", billing.at(9000))])
      billing.clock.advance(by: .seconds(1))
      let linked = try await billing.put(customer, #"{"originalAppUserId":"x"}"#, as: Self.ana)
      #expect(linked.status == 200 && linked.text?.contains(#""expirationDate":"2027-01-15T10:30:00.000000Z""#) == true)
      let elsewhere = try await billing.put(customer, #"{"originalAppUserId":"x"}"#, as: Self.ben)
      #expect(elsewhere.status == 409)
    }
  }

  @Test("Without a key for RevenueCat there is no billing")
  func off() async throws {
    try await BillingFixture.with(settings: ["PARLEY_AUTH_REVENUECAT_API_KEY": nil]) { billing in
      let response = try await billing.post(billing.event("E1", "RENEWAL", at: billing.now, of: ["x"]))
      #expect(response.status == 404)
      let error = await #expect(throws: RPCError.self) { try await billing.check(Self.ana) }
      #expect(error?.code == .unimplemented)
      // And health knows of no such service, though the program could serve it.
      let health = GRPCHealthV1.Health.Client(billing.channel)
      let unknown = await #expect(throws: RPCError.self) {
        try await health.check(.init(service: Billing.services[0].name), options: .timeout(.seconds(30)))
      }
      #expect(unknown?.code == .notFound)
      #expect(try await health.check(.init(), options: .timeout(.seconds(30))).status == .serving)
    }
  }
}
