import AuthDomain
import EventLoop
import ParleyAPI
import RPC
import TestSupport
import Testing

@Suite("Questions of RevenueCat and the deadlines of those who wait", .serialized)
struct DeadlineTests {
  private static let ana = BillingHistoryTests.ana

  private static func options(_ deadline: Duration) -> CallOptions {
    CallOptions(metadata: ["authorization": "Bearer \(ana)"], deadline: .after(deadline))
  }

  @Test("Who waits for RevenueCat is told why before the deadline of the call, and the answer is kept when it comes (BB-04)")
  func held() async throws {
    try await BillingFixture.with { billing in
      billing.revenueCat.know([Self.ana.description], entitlements: [("pro", "monthly", billing.at(9000))])
      billing.revenueCat.fail(.hang)
      let (own, directory) = (EntitlementService.Client(billing.channel), EntitlementDirectoryService.Client(billing.channel))
      let options = Self.options(.seconds(6).withPatience)
      // All at once, so that they share one question, each with a deadline of its own.
      async let synced = ending { () async throws(RPCError) in try await own.syncEntitlement(options: options) }
      async let linked = ending { () async throws(RPCError) in
        try await own.linkCustomer(.init(originalAppUserID: "$RCAnonymousID:1"), options: options)
      }
      async let checked = ending { () async throws(RPCError) in
        try await directory.checkEntitlement(.init(userID: Self.ana.description), options: options)
      }
      let endings = await [synced, linked, checked]
      #expect(endings == [String](repeating: "UNAVAILABLE ENTITLEMENT_UNAVAILABLE", count: 3))
      // Two questions: the check would take an answer that was given since, the others would not.
      #expect((1...2).contains(billing.revenueCat.asked.count), "\(billing.revenueCat.asked)")
      let asked = billing.revenueCat.asked.count
      billing.revenueCat.release()
      try await eventually("the answer is kept") { try await billing.get(Self.ana).isEntitled }
      #expect(billing.revenueCat.asked.count == asked)
    }
  }

  @Test("Who has the time waits for the answer, beside somebody who has not (BB-04)")
  func patient() async throws {
    try await BillingFixture.with { billing in
      billing.revenueCat.know([Self.ana.description], entitlements: [("pro", "monthly", billing.at(9000))])
      billing.revenueCat.fail(.hang)
      let own = EntitlementService.Client(billing.channel)
      // Well before the ten seconds that a question takes at most, however slow the build is.
      async let hasty = ending { () async throws(RPCError) in
        try await own.syncEntitlement(options: Self.options(.seconds(6)))
      }
      async let patient = billing.sync(Self.ana)
      #expect(await hasty == "UNAVAILABLE ENTITLEMENT_UNAVAILABLE")
      billing.revenueCat.release()
      let found = try await patient
      #expect(found.isEntitled && billing.revenueCat.asked.count == 1)
    }
  }
}
