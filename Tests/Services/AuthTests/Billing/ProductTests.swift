import AuthDomain
import ParleyAPI
import ParleyProvider
import PostgreSQL
import RPC
import ServiceKit
import TestSupport
import Testing
import Values
import WellKnown

/// The auth service as it runs, RevenueCat's stand-in, and a service with a certificate that asks which plan somebody has.
@Suite("Which product somebody has", .serialized)
struct ProductTests {
  /// What a service is told: the product, `none` where no subscription runs, else how the call ended.
  private static func told(_ world: PaidWorld, of user: String) async throws -> String {
    let user = try #require(UUID(user))
    let clock = world.service.clock
    let entitlements = AskedEntitlements(over: world.service.services, clock: WallClock { clock.wall })
    do throws(RPCError) { return try await entitlements.product(of: user) ?? "none" } catch {
      return "\(error.code.name) \(error.reason ?? "")"
    }
  }

  private static func eventually(_ expected: String, _ world: PaidWorld, of user: String) async throws {
    try await TestSupport.eventually("\(expected) is told") { try await told(world, of: user) == expected }
  }

  private static func sync(_ world: PaidWorld, _ tokens: SessionTokens) async throws {
    _ = try await EntitlementService.Client(world.service.channel).syncEntitlement(
      options: world.service.from("192.0.2.1", tokens.accessToken))
  }

  @Test("O-53: a purchase by webhook is told with its product, to services that want it, until it has run out")
  func purchase() async throws {
    try await PaidWorld.with { world in
      let ana = try await world.signIn("ana")
      #expect(try await Self.told(world, of: ana.user) == "none")
      world.purchase(as: [ana.user])
      #expect(try await world.webhook("E1", of: [ana.user]) == 200)
      try await Self.eventually("monthly", world, of: ana.user)
      // Who does not ask for the product is not told it.
      let plain = try await EntitlementDirectoryService.Client(world.service.services).checkEntitlement(
        .init(userID: ana.user), options: .timeout(.seconds(30)))
      #expect(plain.isEntitled && plain.productID.isEmpty)
      // Nobody without a certificate is.
      let stranger = await ending { () async throws(RPCError) in
        try await EntitlementDirectoryService.Client(world.service.channel).checkEntitlement(
          .init(userID: ana.user, withProduct: true), options: .timeout(.seconds(30)))
      }
      #expect(stranger == "UNAUTHENTICATED CLIENT_IDENTITY_REQUIRED")
      // It was bought for seven days, and the event said the same.
      world.service.clock.advance(by: .seconds(8 * 86_400))
      try await Self.eventually("none", world, of: ana.user)
    }
  }

  @Test("O-53: who changes the plan has the new one as soon as RevenueCat says so, whatever it is called")
  func change() async throws {
    try await PaidWorld.with { world in
      let ana = try await world.signIn("ana")
      let ends = world.now.advanced(by: .seconds(7 * 86_400))
      for product in ["starter_weekly", "normal_weekly", "a plan that nobody has heard of"] {
        world.revenueCat.know([ana.user], entitlements: [("pro", product, ends)])
        world.service.clock.advance(by: .seconds(10))
        try await Self.sync(world, ana.tokens)
        #expect(try await Self.told(world, of: ana.user) == product)
      }
    }
  }

  @Test(
    "O-53: a purchase of a store's sandbox, one of another entitlement and one that has run out are no plan, and neither is nobody"
  )
  func nothing() async throws {
    try await PaidWorld.with { world in
      let later = world.now.advanced(by: .seconds(7 * 86_400))
      let earlier = world.now.advanced(by: .seconds(-86_400))
      let (sandbox, other, over) = (
        try await world.signIn("sandbox"), try await world.signIn("other"), try await world.signIn("over")
      )
      world.revenueCat.know([sandbox.user], entitlements: [("pro", "monthly", later)], sandbox: ["monthly"])
      world.revenueCat.know([other.user], entitlements: [("stickers", "stickers_yearly", later)])
      world.revenueCat.know([over.user], entitlements: [("pro", "monthly", earlier)])
      for person in [sandbox, other, over] {
        try await Self.sync(world, person.tokens)
        #expect(try await Self.told(world, of: person.user) == "none")
      }
      #expect(try await Self.told(world, of: UserID(high: 1, low: 1).description) == "none")
      let malformed = await ending { () async throws(RPCError) in
        try await EntitlementDirectoryService.Client(world.service.services).checkEntitlement(
          .init(userID: "ana", withProduct: true), options: .timeout(.seconds(30)))
      }
      #expect(malformed == "INVALID_ARGUMENT INVALID_ARGUMENT")
    }
  }

  @Test("O-53: while RevenueCat does not answer, no plan is made up, and the plan that is known is told")
  func away() async throws {
    try await PaidWorld.with(["PARLEY_AUTH_REVENUECAT_CHECK_TIMEOUT": "100ms"]) { world in
      let (ana, ben) = (try await world.signIn("ana"), try await world.signIn("ben"))
      world.purchase(as: [ana.user])
      try await Self.sync(world, ana.tokens)
      world.revenueCat.fail(.status(500, "{}"))
      #expect(try await Self.told(world, of: ana.user) == "monthly")
      #expect(try await Self.told(world, of: ben.user) == "UNAVAILABLE ENTITLEMENT_UNAVAILABLE")
    }
  }
}
