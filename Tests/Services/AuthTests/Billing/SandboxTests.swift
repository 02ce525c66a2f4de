import AuthAPI
import AuthDomain
import JSON
import Outbound
import ParleyAPI
import ServiceKit
import TestSupport
import Testing
import Values
import WellKnown

@Suite("Purchases of a store's sandbox", .serialized)
struct SandboxTests {
  private static let ana = BillingHistoryTests.ana
  private static let ben = BillingHistoryTests.ben

  /// What was bought in a sandbox, as a subscription and once and for all; and beside it what was paid for.
  private static func buy(_ billing: BillingFixture) {
    billing.revenueCat.know(
      [ana.description], entitlements: [("pro", "monthly", billing.at(9000))], sandbox: ["monthly"])
    billing.revenueCat.know(
      [ben.description], entitlements: [("pro", "lifetime", nil)], sandbox: ["lifetime"], forever: ["lifetime"])
  }

  @Test("B-50: what was bought in a store's sandbox opens nothing: not by an event, not by a question, not by a claim (AF-03)")
  func refused() async throws {
    try await BillingFixture.with { billing in
      Self.buy(billing)
      var event = billing.event("E1", "INITIAL_PURCHASE", at: billing.now, of: [Self.ana.description], ends: billing.at(9000))
      event["environment"] = "SANDBOX"
      #expect(try await billing.post(event).status == 200)
      try await billing.settled()
      #expect(try await !billing.get(Self.ana).isEntitled)
      for user in [Self.ana, Self.ben] {
        let checked = try await billing.check(user)
        #expect(!checked.isEntitled)
        #expect(try await !billing.sync(user).isEntitled)
        let claimed = try await billing.put(
          "/api/settings/subscription-status", #"{"isActive":true,"isEntitled":true}"#, as: user)
        #expect(claimed.text?.contains(#""isEntitled":false"#) == true)
      }
      // What was paid for beside it counts.
      billing.revenueCat.know(
        [Self.ana.description], entitlements: [("pro", "monthly", billing.at(9000)), ("pro", "yearly", billing.at(5000))],
        sandbox: ["monthly"])
      billing.clock.advance(by: .seconds(60))
      let paid = try await billing.sync(Self.ana)
      #expect(paid.isEntitled && paid.productID == "yearly" && paid.expiresAt?.seconds == billing.at(5000).seconds)
    }
  }

  @Test("B-50: a setting opens the service to purchases of a sandbox, and says so at the start and in the check (AF-03)")
  func counted() async throws {
    let name = "PARLEY_AUTH_REVENUECAT_SANDBOX"
    try await BillingFixture.with(settings: [name: "true"]) { billing in
      Self.buy(billing)
      for user in [Self.ana, Self.ben] {
        let checked = try await billing.check(user)
        #expect(checked.isEntitled)
      }
      #expect(billing.log.all.contains { $0.hasPrefix("warning PURCHASES OF A STORE'S SANDBOX COUNT") })
    }
    for (value, warnings) in [("true", 1), ("false", 0)] {
      let settings = try Settings(
        service: "auth", keys: Billing.configuration, environment: ["PARLEY_AUTH_REVENUECAT_API_KEY": "sk", name: value])
      #expect(Billing.check(settings).filter { $0.key == "revenuecat.sandbox" && $0.severity == .warning }.count == warnings)
    }
  }
}
