import AuthDomain
import Testing
import Values

@Suite("Billing history")
struct BillingHistoryTests {
  static let ana = UserID(high: 0x018f_0000_0000_7000, low: 0x8000_0000_0000_0001)
  static let ben = UserID(high: 0x018f_0000_0000_7000, low: 0x8000_0000_0000_0002)
  static let start = Instant(seconds: 1_800_000_000)
  static let month = Duration.seconds(30 * 86_400)

  static func id(_ text: String) -> CustomerID { CustomerID(text) ?? CustomerID(ana) }
  static func at(_ seconds: Int64) -> Instant { start.advanced(by: .seconds(seconds)) }

  static func event(
    _ id: String, _ type: String, at seconds: Int64, of customers: [CustomerID] = [CustomerID(ana)], product: String = "monthly",
    ends: Instant? = start.advanced(by: month), grace: Instant? = nil, period: String = "NORMAL", reason: String = "",
    entitlements: [String] = ["pro"], isSandbox: Bool = false
  ) -> BillingEvent {
    BillingEvent(
      id: id, type: type, at: at(seconds), isSandbox: isSandbox, customers: customers, productID: product,
      entitlements: entitlements, expiresAt: ends, graceUntil: grace, period: period, reason: reason)
  }

  static func transfer(_ id: String, at seconds: Int64, from: [CustomerID], to: [CustomerID]) -> BillingEvent {
    BillingEvent(id: id, type: "TRANSFER", at: at(seconds), transferredFrom: from, transferredTo: to)
  }

  /// The accounts that there are, by their own ids.
  static let accounts = [CustomerID(ana): ana, CustomerID(ben): ben]

  static func best(
    _ events: [BillingEvent], _ user: UserID = ana, since snapshot: SubscriptionSnapshot? = nil, links: [CustomerID: UserID] = [:]
  ) -> Subscription? {
    BillingHistory(events, links: accounts.merging(links) { $1 }).subscriptions(of: .user(user), since: snapshot).best
  }

  static func permutations<Value>(_ values: [Value]) -> [[Value]] {
    guard let first = values.first else { return [[]] }
    return permutations(Array(values.dropFirst())).flatMap { rest in
      (0...rest.count).map { place in Array(rest[..<place]) + [first] + Array(rest[place...]) }
    }
  }

  // MARK: Types

  @Test(
    "B-50: each type of event does to access what RevenueCat's rules say",
    arguments: [
      // type, reason, status right after it, will renew
      ("RENEWAL", "", .active, true), ("UNCANCELLATION", "", .active, true),
      ("CANCELLATION", "UNSUBSCRIBE", .active, false), ("CANCELLATION", "BILLING_ERROR", .active, false),
      ("CANCELLATION", "PRICE_INCREASE", .active, false), ("CANCELLATION", "CUSTOMER_SUPPORT", .cancelled, false),
      ("EXPIRATION", "UNSUBSCRIBE", .cancelled, false), ("EXPIRATION", "BILLING_ERROR", .pastDue, false),
      ("BILLING_ISSUE", "", .active, true), ("PRODUCT_CHANGE", "", .active, true), ("SUBSCRIPTION_PAUSED", "", .active, true),
      ("SUBSCRIPTION_EXTENDED", "", .active, true), ("TEMPORARY_ENTITLEMENT_GRANT", "", .active, true),
      ("REFUND_REVERSED", "", .active, true), ("NON_RENEWING_PURCHASE", "", .active, false),
      ("INVOICE_ISSUANCE", "", .active, true), ("A_TYPE_OF_TOMORROW", "", .active, true),
    ] as [(String, String, SubscriptionStatus, Bool)])
  func types(type: String, reason: String, status: SubscriptionStatus, willRenew: Bool) throws {
    let events = [Self.event("1", "INITIAL_PURCHASE", at: 0), Self.event("2", type, at: 100, reason: reason)]
    let subscription = try #require(Self.best(events))
    #expect(subscription.status(at: Self.at(100)) == status)
    #expect(subscription.willRenew == willRenew)
  }

  @Test("B-50: only what grants opens anything for somebody who had nothing")
  func opening() {
    let types = [
      "INITIAL_PURCHASE", "RENEWAL", "UNCANCELLATION", "NON_RENEWING_PURCHASE", "SUBSCRIPTION_EXTENDED",
      "TEMPORARY_ENTITLEMENT_GRANT", "REFUND_REVERSED", "CANCELLATION", "EXPIRATION", "BILLING_ISSUE", "PRODUCT_CHANGE",
      "SUBSCRIPTION_PAUSED", "TEST", "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION", "EXPERIMENT_ENROLLMENT",
      "SUBSCRIBER_ALIAS", "A_TYPE_OF_TOMORROW",
    ]
    let opens = types.filter { Self.best([Self.event("1", $0, at: 0)])?.isOpen(at: Self.start) == true }
    #expect(opens == Array(types.prefix(7)))
  }

  @Test("B-50: a failed charge keeps access for its grace and no longer, until a renewal mends it")
  func grace() throws {
    let (end, grace) = (Self.at(1000), Self.at(2000))
    let bought = Self.event("1", "INITIAL_PURCHASE", at: 0, ends: end)
    let failed = Self.event("2", "BILLING_ISSUE", at: 999, ends: end, grace: grace)
    let inGrace = try #require(Self.best([bought, failed]))
    #expect(inGrace.status(at: Self.at(1999)) == .active && inGrace.status(at: grace) == .pastDue)
    let without = try #require(Self.best([bought, Self.event("2", "BILLING_ISSUE", at: 999, ends: end)]))
    #expect(without.status(at: Self.at(999)) == .active && without.status(at: end) == .pastDue)
    let mended = try #require(Self.best([bought, failed, Self.event("3", "RENEWAL", at: 1500, ends: Self.at(9000))]))
    #expect(!mended.hasBillingIssue && mended.status(at: Self.at(9000)) == .cancelled)
  }

  @Test("A trial is one until it is renewed, and what never expires never does")
  func periods() throws {
    let trial = Self.event("1", "INITIAL_PURCHASE", at: 0, period: "TRIAL")
    #expect(Self.best([trial])?.status(at: Self.start) == .trialing)
    #expect(Self.best([trial, Self.event("2", "RENEWAL", at: 5)])?.status(at: Self.start) == .active)
    let lifetime = try #require(Self.best([Self.event("1", "NON_RENEWING_PURCHASE", at: 0, ends: nil)]))
    #expect(lifetime.isOpen(at: Instant(microseconds: .max)) && !lifetime.willRenew)
  }

  @Test("A sandbox event, and one whose product gives no entitlement that counts, change nothing")
  func worthless() {
    #expect(Self.best([Self.event("1", "INITIAL_PURCHASE", at: 0, isSandbox: true)]) == nil)
    #expect(Self.best([Self.event("1", "INITIAL_PURCHASE", at: 0, entitlements: [])]) == nil)
    let other = BillingHistory(
      [Self.event("1", "INITIAL_PURCHASE", at: 0, entitlements: ["basic"])], links: Self.accounts, entitlements: ["pro"])
    #expect(other.subscriptions(of: .user(Self.ana)).isEmpty)
    let bought = Self.event("1", "INITIAL_PURCHASE", at: 0)
    #expect(Self.best([bought, Self.event("2", "EXPIRATION", at: 1, isSandbox: true)])?.isOpen(at: Self.at(2)) == true)
  }

  @Test("The end of one product leaves another as it is")
  func products() {
    let events = [
      Self.event("1", "INITIAL_PURCHASE", at: 0, product: "weekly", ends: Self.at(500)),
      Self.event("2", "INITIAL_PURCHASE", at: 400, product: "half-year"),
      Self.event("3", "EXPIRATION", at: 500, product: "weekly", ends: Self.at(500)),
    ]
    #expect(Self.best(events)?.productID == "half-year")
    #expect(Self.best(events)?.isOpen(at: Self.at(501)) == true)
  }

  // MARK: Order

  @Test("B-50: a snapshot outweighs the events that it knew, and none of those that came after it")
  func snapshots() {
    let events = [Self.event("1", "INITIAL_PURCHASE", at: 0), Self.event("2", "EXPIRATION", at: 100, reason: "UNSUBSCRIBE")]
    let empty = SubscriptionSnapshot(at: Self.at(100), subscriptions: [])
    #expect(Self.best(events, since: empty) == nil)
    let renewed = SubscriptionSnapshot(
      at: Self.at(150), subscriptions: [Subscription(productID: "monthly", endsAt: Self.at(9000))])
    #expect(Self.best(events, since: renewed)?.isOpen(at: Self.at(200)) == true)
    let before = SubscriptionSnapshot(at: Self.at(50), subscriptions: renewed.subscriptions)
    #expect(Self.best(events, since: before)?.isOpen(at: Self.at(200)) == false)
  }

  @Test("B-50: every order of arrival, with repetitions, ends in the same state")
  func orders() {
    let anonymous = Self.id("$RCAnonymousID:1")
    let events = [
      Self.event("a", "INITIAL_PURCHASE", at: 0, of: [anonymous], ends: Self.at(1000), period: "TRIAL"),
      Self.event("b", "RENEWAL", at: 1000, of: [CustomerID(Self.ana), anonymous], ends: Self.at(2000)),
      Self.event("c", "BILLING_ISSUE", at: 2000, ends: Self.at(2000), grace: Self.at(3000)),
      Self.transfer("d", at: 2500, from: [CustomerID(Self.ana)], to: [CustomerID(Self.ben)]),
      Self.event("e", "CANCELLATION", at: 2600, of: [CustomerID(Self.ben)], reason: "UNSUBSCRIBE"),
      Self.event("f", "EXPIRATION", at: 2600, of: [CustomerID(Self.ben)], ends: Self.at(2700), reason: "BILLING_ERROR"),
    ]
    let links = [anonymous: Self.ana]
    let expected = [Self.ana, Self.ben].map { Self.best(events, $0, links: links) }
    #expect(expected[0]?.status(at: Self.at(2500)) == .pastDue)
    #expect(expected[1]?.endsAt == Self.at(2000) && expected[1]?.willRenew == false)
    let orders = Self.permutations(events)
    #expect(orders.count == 720)
    for order in orders {
      for (user, wanted) in zip([Self.ana, Self.ben], expected) {
        #expect(Self.best(order + order.prefix(2), user, links: links) == wanted)
      }
    }
  }

  // MARK: Whose

  @Test("B-50: a purchase before there was an account counts once its customer is linked")
  func anonymous() {
    let anonymous = Self.id("$RCAnonymousID:1")
    let events = [Self.event("1", "INITIAL_PURCHASE", at: 0, of: [anonymous])]
    #expect(Self.best(events) == nil)
    #expect(Self.best(events, links: [anonymous: Self.ana])?.isOpen(at: Self.start) == true)
    let later = events + [Self.event("2", "SUBSCRIBER_ALIAS", at: 5, of: [anonymous, CustomerID(Self.ana)])]
    #expect(BillingHistory(later, links: Self.accounts).owner(later[1]) == .user(Self.ana))
  }

  @Test("A transfer ends the giver's access at once, and the taker has what the giver had")
  func transfers() {
    let bought = Self.event("1", "INITIAL_PURCHASE", at: 0)
    let moved = Self.transfer("2", at: 100, from: [CustomerID(Self.ana)], to: [CustomerID(Self.ben)])
    #expect(Self.best([bought, moved], Self.ana)?.isOpen(at: Self.at(100)) == false)
    #expect(Self.best([bought, moved], Self.ben)?.isOpen(at: Self.at(100)) == true)
    // What the giver buys after that is the giver's.
    let again = Self.event("3", "INITIAL_PURCHASE", at: 200, ends: Self.at(90_000_000))
    #expect(Self.best([bought, moved, again], Self.ana)?.isOpen(at: Self.at(300)) == true)
    #expect(Self.best([bought, moved, again], Self.ben)?.endsAt == bought.expiresAt)
    // Both sides the same person: nothing moves.
    let within = Self.transfer("2", at: 100, from: [Self.id("x")], to: [CustomerID(Self.ana)])
    #expect(Self.best([bought, within], links: [Self.id("x"): Self.ana])?.isOpen(at: Self.at(100)) == true)
  }

  @Test("A circle of transfers ends")
  func circle() {
    let events = (0..<40).map { number in
      let (from, to) = number.isMultiple(of: 2) ? (Self.ana, Self.ben) : (Self.ben, Self.ana)
      return Self.transfer("t\(number)", at: Int64(number), from: [CustomerID(from)], to: [CustomerID(to)])
    }
    #expect(Self.best(events) == nil)
  }
}
