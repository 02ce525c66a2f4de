import AuthDomain
import AuthStore
import EventLoop
import PostgreSQL
import Testing

@Suite("Entitlements in the database", .serialized)
struct EntitlementStoreTests {
  private typealias History = BillingHistoryTests

  @Test("B-50: every order of arrival leaves the same rows, with a purchase from before the account among them")
  func orders() async throws {
    try await LimitStoreTests.withStore { database, group, prepared in
      let store = EntitlementStore(database, entitlements: [])
      let orders = History.permutations([0, 1, 2, 3])
      for (number, order) in orders.enumerated() {
        // Each order has people of its own.
        let (ana, ben) = (UserID(high: 7, low: UInt64(2 * number)), UserID(high: 7, low: UInt64(2 * number + 1)))
        try await BillingFixture.makeAccounts([ana, ben], in: prepared)
        let anonymous = History.id("$RCAnonymousID:\(number)")
        let events = [
          History.event("\(number)a", "INITIAL_PURCHASE", at: 0, of: [anonymous], ends: History.at(1000)),
          History.event("\(number)b", "RENEWAL", at: 900, of: [CustomerID(ana), anonymous], ends: History.at(2000)),
          History.transfer("\(number)c", at: 1500, from: [CustomerID(ana)], to: [CustomerID(ben)]),
          History.event("\(number)d", "CANCELLATION", at: 1600, of: [CustomerID(ben)], reason: "UNSUBSCRIBE"),
        ]
        for index in order + order.prefix(1) { _ = try await store.take(events[index], body: [], at: History.start) }
        let (giver, taker) = (try await store.record(of: ana), try await store.record(of: ben))
        #expect(giver?.subscription == Subscription(productID: "monthly", endsAt: History.at(1500)), "\(order)")
        #expect(taker?.subscription == Subscription(productID: "monthly", endsAt: History.at(2000)), "\(order)")
      }
      let events: Int? = try await prepared.value("select count(*) from auth.webhook_event")
      #expect(events == orders.count * 4)
    }
  }

  @Test("Events of one person on all loops at once leave the same as one after the other")
  func concurrent() async throws {
    try await LimitStoreTests.withStore { database, group, prepared in
      try await BillingFixture.makeAccounts([History.ana], in: prepared)
      let store = EntitlementStore(database, entitlements: [])
      let anonymous = History.id("$RCAnonymousID:1")
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for number in 0..<24 {
          tasks.addTask(executorPreference: group.loops[number % 2]) {
            let customers = number.isMultiple(of: 3) ? [anonymous] : [CustomerID(History.ana), anonymous]
            let event = History.event(
              "e\(number)", "RENEWAL", at: Int64(number), of: number.isMultiple(of: 2) ? customers.reversed() : customers,
              ends: History.at(Int64(1000 + number)))
            _ = try await store.take(event, body: [], at: History.start)
          }
        }
        try await tasks.waitForAll()
      }
      let record = try await store.record(of: History.ana)
      #expect(record?.subscription?.endsAt == History.at(1023))
    }
  }

  @Test("An older answer of RevenueCat's changes nothing, and a newer event outweighs the answer")
  func answers() async throws {
    try await LimitStoreTests.withStore { database, _, prepared in
      try await BillingFixture.makeAccounts([History.ana], in: prepared)
      let store = EntitlementStore(database, entitlements: [])
      func apply(_ ends: Int64?, at seconds: Int64) async throws -> EntitlementStore.AnswerOutcome {
        let subscriptions = ends.map { [Subscription(productID: "monthly", endsAt: History.at($0))] } ?? []
        return try await store.apply(
          SubscriptionSnapshot(at: History.at(seconds), subscriptions: subscriptions), original: CustomerID(History.ana),
          managementURL: nil, to: History.ana, startedAt: History.start, at: History.at(seconds))
      }
      _ = try await apply(5000, at: 100)
      _ = try await apply(nil, at: 99)
      let record = try await store.record(of: History.ana)
      #expect(record?.subscription?.endsAt == History.at(5000))
      _ = try await store.take(History.event("1", "EXPIRATION", at: 100, ends: History.at(100)), body: [], at: History.start)
      let known = try await store.record(of: History.ana)
      #expect(known?.subscription?.endsAt == History.at(5000))
      _ = try await store.take(History.event("2", "EXPIRATION", at: 101, ends: History.at(101)), body: [], at: History.start)
      let over = try await store.record(of: History.ana)
      #expect(over?.subscription?.endsAt == History.at(101))
      // What an event wanted after the question was put is still to be asked.
      let queue = RereadQueue(database)
      _ = try await store.take(History.event("3", "RENEWAL", at: 200), body: [], at: History.at(1))
      _ = try await apply(nil, at: 300)
      let waiting = try await queue.claim(atMost: 8, for: .seconds(60), at: History.at(1))
      #expect(waiting.map(\.user) == [History.ana] && waiting.first?.attempts == 1)
      let leased = try await queue.claim(atMost: 8, for: .seconds(60), at: History.at(60))
      #expect(leased.isEmpty)
      let lost = try await queue.claim(atMost: 8, for: .seconds(60), at: History.at(61))
      #expect(lost.first?.attempts == 2)
    }
  }

  @Test("The serving role may neither change nor remove an event")
  func appendOnly() async throws {
    try await LimitStoreTests.withStore { database, _, _ in
      let store = EntitlementStore(database, entitlements: [])
      _ = try await store.take(History.event("1", "RENEWAL", at: 0), body: [1], at: History.start)
      for query in ["delete from auth.webhook_event", "update auth.webhook_event set type = 'x'"] as [Query] {
        let error = await #expect(throws: DatabaseError.self) { try await database.execute(query) }
        #expect(error?.code == .permissionDenied)
      }
    }
  }
}
