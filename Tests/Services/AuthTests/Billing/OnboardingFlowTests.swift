import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import TestSupport
import Testing

/// The first app's flow up to payment and sign-in (4.1, 3.1, 3.3 of the specification), in seven steps:
/// 1. somebody is there anonymously, and nothing that is protected is open;
/// 2. the paywall: a purchase by RevenueCat's anonymous customer;
/// 3. a nonce for the sign-in;
/// 4. Apple's token becomes an account and a session;
/// 5. the app tells RevenueCat who the customer is now, which makes the account's id an alias;
/// 6. the app links the customer;
/// 7. what was paid for is open.
@Suite("Onboarding up to payment and sign-in", .serialized)
struct OnboardingFlowTests {
  private static let anonymous = "$RCAnonymousID:0123456789abcdef"

  /// Steps 1 to 4.
  private static func signedIn(_ world: PaidWorld, _ name: String = "ana") async throws -> (user: String, tokens: SessionTokens) {
    #expect(await world.read(nil).ending == "UNAUTHENTICATED MISSING_AUTHORIZATION")
    world.purchase(as: [anonymous])
    return try await world.signIn(name)
  }

  @Test("B-44, B-50: the seven steps with a webhook in time end in access")
  func inTime() async throws {
    try await PaidWorld.with { world in
      #expect(await world.read(nil).ending == "UNAUTHENTICATED MISSING_AUTHORIZATION")
      world.purchase(as: [Self.anonymous])
      // Of somebody whom nobody knows yet.
      #expect(try await world.webhook("E1", of: [Self.anonymous]) == 200)
      let (user, tokens) = try await world.signIn("ana")
      world.purchase(as: [Self.anonymous, user])
      #expect(await world.link(Self.anonymous, tokens) == "OK")
      try await eventually { await world.read(tokens).ending == "OK" }
      #expect(try await world.get(tokens).status == 200)
      // RevenueCat delivers again, and nothing changes.
      #expect(try await world.webhook("E1", of: [Self.anonymous]) == 200)
      #expect(await world.read(tokens).ending == "OK")
    }
  }

  @Test("B-54: a webhook that comes late is not waited for: RevenueCat is asked once, and the webhook changes nothing then")
  func late() async throws {
    try await PaidWorld.with { world in
      let (user, tokens) = try await Self.signedIn(world)
      world.purchase(as: [Self.anonymous, user])
      try await eventually { await world.read(tokens).ending == "OK" }
      #expect(world.revenueCat.asked == [user])
      world.service.clock.advance(by: .seconds(120))
      #expect(try await world.webhook("E1", of: [user, Self.anonymous]) == 200)
      let again = try await world.service.refresh(tokens.refreshToken)
      #expect(await world.read(again).ending == "OK")
      #expect(await world.link(Self.anonymous, again) == "OK")
    }
  }

  @Test("B-54: a webhook that never comes keeps nobody out who has paid, and lets nobody in whose time is over")
  func never() async throws {
    try await PaidWorld.with { world in
      let (user, tokens) = try await Self.signedIn(world)
      world.purchase(as: [Self.anonymous, user])
      #expect(await world.link(Self.anonymous, tokens) == "OK")
      try await eventually { await world.read(tokens).ending == "OK" }
      // A week later it is over, and RevenueCat, asked again, says so.
      world.service.clock.advance(by: .seconds(7 * 86_400))
      let later = try await world.service.refresh(tokens.refreshToken)
      try await eventually { await world.read(later).ending == "FAILED_PRECONDITION SUBSCRIPTION_REQUIRED" }
      let events: Int64? = try await world.database.value("select count(*) from auth.webhook_event")
      #expect(events == 0)
    }
  }

  @Test("B-49, B-54: whoever signs in without having paid gets 402, and access as soon as the purchase is RevenueCat's")
  func unpaid() async throws {
    try await PaidWorld.with { world in
      let (user, tokens) = try await world.signIn("ana")
      try await eventually { await world.read(tokens).ending == "FAILED_PRECONDITION SUBSCRIPTION_REQUIRED" }
      #expect(try await world.get(tokens).status == 402)
      world.purchase(as: [user])
      // RevenueCat's "no" stands for five seconds, to the second.
      #expect(await world.read(tokens).ending == "FAILED_PRECONDITION SUBSCRIPTION_REQUIRED")
      world.service.clock.advance(by: .seconds(5))
      try await eventually { await world.read(tokens).ending == "OK" }
    }
  }

  @Test("B-54: while RevenueCat is away nobody is let in unseen, and a webhook opens what was paid for all the same")
  func away() async throws {
    try await PaidWorld.with { world in
      let (user, tokens) = try await Self.signedIn(world)
      world.revenueCat.fail(.status(401, "{}"))
      try await eventually { await world.read(tokens).ending == "UNAVAILABLE ENTITLEMENT_UNAVAILABLE" }
      #expect(try await world.webhook("E1", of: [user, Self.anonymous]) == 200)
      try await eventually { await world.read(tokens).ending == "OK" }
    }
  }

  @Test("B-55: a customer that RevenueCat has not named is not linked, and one that is linked is nobody else's")
  func others() async throws {
    try await PaidWorld.with { world in
      let (user, tokens) = try await Self.signedIn(world)
      // Step 5 was left out: RevenueCat knows the anonymous customer alone.
      #expect(await world.link(Self.anonymous, tokens) == "FAILED_PRECONDITION CUSTOMER_NOT_VERIFIED")
      try await eventually { await world.read(tokens).ending == "FAILED_PRECONDITION SUBSCRIPTION_REQUIRED" }
      world.purchase(as: [Self.anonymous, user])
      world.service.clock.advance(by: .seconds(6))
      #expect(await world.link(Self.anonymous, tokens) == "OK")
      try await eventually { await world.read(tokens).ending == "OK" }
      let (_, thief) = try await world.signIn("ben")
      #expect(await world.link(Self.anonymous, thief) == "ALREADY_EXISTS CUSTOMER_LINKED_ELSEWHERE")
      try await eventually { await world.read(thief).ending == "FAILED_PRECONDITION SUBSCRIPTION_REQUIRED" }
    }
  }
}
