import AuthAPI
import AuthDomain
import JSON
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import TestSupport
import Testing
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
