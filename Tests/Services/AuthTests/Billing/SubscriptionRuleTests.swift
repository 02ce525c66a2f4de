import AuthDomain
import RevenueCatProvider
import Testing
import Values

@Suite("Subscription rules")
struct SubscriptionRuleTests {
  private static let now = Instant(seconds: 1_800_000_000)

  private static func moment(_ seconds: Int64?) -> Instant? { seconds.map { now.advanced(by: .seconds($0)) } }

  @Test(
    "B-50: access follows the expiry and the grace, and ends at the very moment",
    arguments: [
      // ends, grace, trial, billing issue -> status
      (nil, nil, false, false, .active), (1, nil, false, false, .active), (0, nil, false, false, .cancelled),
      (-1, nil, false, false, .cancelled), (1, nil, true, false, .trialing), (0, nil, true, false, .cancelled),
      (-10, 1, false, true, .active), (-10, 0, false, true, .pastDue), (-10, nil, false, true, .pastDue),
      (10, 5, false, true, .active), (nil, nil, false, true, .active),
    ] as [(Int64?, Int64?, Bool, Bool, SubscriptionStatus)])
  func status(ends: Int64?, grace: Int64?, isTrial: Bool, hasIssue: Bool, expected: SubscriptionStatus) {
    let subscription = Subscription(
      productID: "p", endsAt: Self.moment(ends), graceUntil: Self.moment(grace), isTrial: isTrial, hasBillingIssue: hasIssue)
    #expect(subscription.status(at: Self.now) == expected)
    #expect(subscription.isOpen(at: Self.now) == expected.isEntitled)
  }

  @Test("B-50: the first app's two flags mean what they meant")
  func claims() {
    #expect(SubscriptionStatus(claimedActive: true, entitled: true) == .active)
    #expect(SubscriptionStatus(claimedActive: true, entitled: false) == .trialing)
    #expect(SubscriptionStatus(claimedActive: false, entitled: true) == .pastDue)
    #expect(SubscriptionStatus(claimedActive: false, entitled: false) == .cancelled)
  }

  @Test("Of several products the one that ends last counts, whatever their order")
  func best() {
    let products = [
      Subscription(productID: "a", endsAt: Self.moment(5)), Subscription(productID: "b", endsAt: Self.moment(9)),
      Subscription(productID: "c", endsAt: Self.moment(9)), Subscription(productID: "d", endsAt: Self.moment(-9)),
    ]
    for shift in 0..<4 { #expect((products[shift...] + products[..<shift]).best?.productID == "b") }
    #expect((products + [Subscription(productID: "e", endsAt: nil)]).best?.productID == "e")
  }

  @Test("A yes is remembered until its limit or the end of access, whichever comes first; a no never")
  func remembered() {
    let limit = Self.now.advanced(by: .seconds(60))
    func answer(_ ends: Int64?) -> Instant? {
      EntitlementRecord(subscription: Subscription(productID: "p", endsAt: Self.moment(ends))).isOpen(until: limit, at: Self.now)
    }
    #expect(answer(nil) == limit && answer(61) == limit)
    #expect(answer(59) == Self.moment(59))
    #expect(answer(0) == nil && EntitlementRecord().isOpen(until: limit, at: Self.now) == nil)
  }

  @Test(
    "A customer's id has 1 to 1500 bytes and is no step of a path",
    arguments: [
      ("", false), ("a", true), (String(repeating: "a", count: 1500), true), (String(repeating: "a", count: 1501), false),
      (".", false), ("..", false), ("...", true), ("$RCAnonymousID:a/b", true), ("a\nb", false), ("a\u{7f}", false),
    ])
  func customerIDs(text: String, isGood: Bool) { #expect((CustomerID(text) != nil) == isGood) }

  @Test("The waits for RevenueCat grow from 5 s to an hour and are never less than half of that")
  func backoff() {
    #expect(RereadBackoff.delay(after: 1, chance: 0) == .milliseconds(2500))
    #expect(RereadBackoff.delay(after: 3, chance: 1) == .seconds(20))
    for attempts in 11...100 {
      #expect(RereadBackoff.delay(after: attempts, chance: 1) == RereadBackoff.longest)
    }
  }
}
