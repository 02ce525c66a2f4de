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

@Suite("How often RevenueCat is asked", .serialized)
struct AskingTests {
  private static let ana = BillingHistoryTests.ana
  private static let ben = BillingHistoryTests.ben

  @Test("B-54: while RevenueCat answers 429, calls of one person do not each ask it again (AF-04)", arguments: [429, 401, 500])
  func failures(status: Int) async throws {
    try await BillingFixture.with(settings: ["PARLEY_AUTH_REVENUECAT_CHECK_TIMEOUT": "100ms"]) { billing in
      billing.revenueCat.fail(.status(status, #"{"backoff_ms":60000}"#))
      func refused() async -> String {
        await ending { () async throws(RPCError) in try await billing.check(Self.ana) }
      }
      #expect(await refused() == "UNAVAILABLE ENTITLEMENT_UNAVAILABLE")
      let asked = billing.revenueCat.asked.count
      for _ in 0..<10 { #expect(await refused() == "UNAVAILABLE ENTITLEMENT_UNAVAILABLE") }
      #expect(billing.revenueCat.asked.count == asked)
    }
  }

  @Test("B-54: somebody who has not paid and calls all day has RevenueCat asked ever more seldom (AF-04)")
  func unpaid() async throws {
    try await BillingFixture.with { billing in
      // A call each second for an hour.
      for _ in 0..<3600 {
        if billing.revenueCat.asked.count > 40 { break }
        let answer = try await billing.check(Self.ana)
        #expect(!answer.isEntitled)
        billing.clock.advance(by: .seconds(1))
      }
      let asked = billing.revenueCat.asked.count
      #expect((2...12).contains(asked), "asked \(asked) times")
    }
  }

  @Test("B-54: five people who have not paid do not use up what RevenueCat bears: all share one bucket (AF-04)")
  func shared() async throws {
    try await BillingFixture.with(settings: ["PARLEY_AUTH_ENTITLEMENT_PAUSE": "0s"]) { billing in
      // Without a pause each call asks, as five hundred people's calls would.
      for _ in 0..<120 {
        _ = await ending { () async throws(RPCError) in try await billing.check(Self.ana) }
        _ = await ending { () async throws(RPCError) in try await billing.check(Self.ben) }
      }
      #expect(billing.revenueCat.asked.count <= 60, "asked \(billing.revenueCat.asked.count) times in one moment")
    }
  }

  @Test("What an event wants to know when all have been asked enough waits for its turn, and costs no attempt (AF-04)")
  func waiting() async throws {
    let limits = ["PARLEY_AUTH_REVENUECAT_PER_MIN": "60", "PARLEY_AUTH_REVENUECAT_BURST": "1"]
    try await BillingFixture.with(settings: limits) { billing in
      for (number, user) in [Self.ana, Self.ben].enumerated() {
        billing.revenueCat.know([user.description], entitlements: [("pro", "monthly", billing.at(9000))])
        _ = try await billing.post(billing.event("E\(number)", "RENEWAL", at: billing.now, of: [user.description]))
      }
      try await eventually {
        let waiting = try? await billing.database.value(
          "select count(*) from auth.entitlement where reread_due_at is not null and reread_attempts = 0", as: Int64.self)
        return waiting == 1 && billing.revenueCat.asked.count == 1
      }
      // A call finds the bucket as empty, and is told when to come back.
      let refused = await #expect(throws: RPCError.self) { try await billing.sync(Self.ana) }
      #expect(refused?.code == .unavailable && refused?.reason == "ENTITLEMENT_UNAVAILABLE" && refused?.retryAfter == .seconds(1))
      billing.clock.advance(by: .seconds(1))
      try await billing.settled()
      #expect(Set(billing.revenueCat.asked) == [Self.ana.description, Self.ben.description])
    }
  }

  @Test("The pause after a no doubles up to 15 minutes, after a failure up to one, and a longer first one stays (AF-04)")
  func pauses() {
    let now = BillingHistoryTests.start
    func pauses(_ first: Duration, failing: Bool) -> [Int64] {
      var pause = AskingPause()
      return (0..<10).map { _ in
        pause = pause.next(at: now, hasFailed: failing, first: first)
        return pause.endsAt.map { $0.duration(since: now).components.seconds } ?? -1
      }
    }
    #expect(pauses(.seconds(5), failing: false) == [5, 10, 20, 40, 80, 160, 320, 640, 900, 900])
    #expect(pauses(.seconds(5), failing: true) == [5, 10, 20, 40, 60, 60, 60, 60, 60, 60])
    #expect(pauses(.seconds(1200), failing: true) == [Int64](repeating: 1200, count: 10))
    #expect(pauses(.zero, failing: false) == [Int64](repeating: 0, count: 10))
    let pause = AskingPause(attempts: .max, endsAt: now.advanced(by: .seconds(1)))
    #expect(pause.next(at: now, hasFailed: false, first: .seconds(5)).endsAt == now.advanced(by: .seconds(900)))
    #expect(pause.wait(at: now) != nil && pause.wait(at: now.advanced(by: .seconds(1))) == nil)
  }

  @Test("B-55: a payer whose first id is a UUID of another system is let in, and the customer is theirs alone (AF-10)")
  func foreign() async throws {
    try await BillingFixture.with { billing in
      let foreign = "6b1e1bfa-30c5-4a53-9d3c-1f6b0c6a7e11"
      billing.revenueCat.know(
        [foreign, Self.ana.description, Self.ben.description], entitlements: [("pro", "monthly", billing.at(9000))])
      let payer = try await billing.check(Self.ana)
      #expect(payer.isEntitled)
      let linked = try await billing.link(foreign, to: Self.ana)
      #expect(linked.customerID == foreign)
      let other = try await billing.check(Self.ben)
      #expect(!other.isEntitled)
      let stolen = await ending { () async throws(RPCError) in try await billing.link(foreign, to: Self.ben) }
      #expect(stolen == "ALREADY_EXISTS CUSTOMER_LINKED_ELSEWHERE")
      // And its events are hers.
      billing.clock.advance(by: .seconds(10))
      _ = try await billing.post(
        billing.event("E1", "RENEWAL", at: billing.now, of: [foreign], ends: billing.at(90_000)))
      try await billing.settled()
      let events: [String] = try await billing.database.values("select customers[1] from auth.webhook_event")
      #expect(events == [foreign])
    }
  }
}
