public import Values

/// What RevenueCat's own record of a customer said at one moment.
public struct SubscriptionSnapshot: Sendable, Hashable {
  /// When it was asked, by RevenueCat's clock: the same that dates events.
  public var at: Instant
  /// What the customer has and had, of what counts.
  public var subscriptions: [Subscription]

  /// A snapshot from its parts.
  public init(at: Instant, subscriptions: [Subscription]) {
    self.at = at
    self.subscriptions = subscriptions
  }
}

/// The events of some customers, and what they come to.
///
/// Events arrive late, twice and in any order. All are kept, and what holds is computed anew from those known, in the order of
/// their own times, on top of the last snapshot. So every order of arrival ends in the same state.
public struct BillingHistory: Sendable {
  /// Whose an event is: an account's, or a customer's that no account is linked to yet.
  public enum Party: Sendable, Hashable {
    /// An account's.
    case user(UserID)
    /// Nobody's yet.
    case customer(CustomerID)
  }

  private let events: [BillingEvent]
  private let links: [CustomerID: UserID]
  private let entitlements: Set<String>

  /// A history.
  ///
  /// - Parameters:
  ///   - events: All that are known of those concerned, in any order; the same one may be there twice.
  ///   - links: The accounts that customers are: by their own ids, where there is such an account, and by what they are linked to.
  ///   - entitlements: The names of the entitlements that count; empty for any.
  public init(_ events: [BillingEvent], links: [CustomerID: UserID] = [:], entitlements: Set<String> = []) {
    self.events = Dictionary(events.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first }).values
      .sorted(by: BillingEvent.precedes)
    self.links = links
    self.entitlements = entitlements
  }

  /// Whose a customer is.
  public func party(_ customer: CustomerID) -> Party {
    links[customer].map(Party.user) ?? .customer(customer)
  }

  /// Whose an event is: the account that the first of its ids with an account has; without one, the customer's that it names.
  public func owner(_ event: BillingEvent) -> Party? {
    for customer in event.customers { if case .user(let user) = party(customer) { return .user(user) } }
    return event.customers.first.map(Party.customer)
  }

  /// What somebody has and had.
  public func subscriptions(of party: Party, since snapshot: SubscriptionSnapshot? = nil) -> [Subscription] {
    var known: [Party: [String: Subscription]] = [:]
    let preceding = snapshot.map { snapshot in events.prefix { $0.at <= snapshot.at }.count } ?? 0
    for event in events[..<preceding] { take(event, &known) }
    if let snapshot {
      known[party] = Dictionary(
        snapshot.subscriptions.map { ($0.productID, $0) }, uniquingKeysWith: { $0.outlasts($1) ? $0 : $1 })
    }
    for event in events[preceding...] { take(event, &known) }
    return (known[party] ?? [:]).values.sorted { $0.productID < $1.productID }
  }

  private func take(_ event: BillingEvent, _ known: inout [Party: [String: Subscription]]) {
    // What a sandbox purchase is worth is a setting of RevenueCat's, so only a snapshot can tell.
    guard !event.isSandbox else { return }
    guard event.meaning == .transfers else {
      if let owner = owner(event) { apply(event, to: &known[owner, default: [:]]) }
      return
    }
    let from = Set(event.transferredFrom.map(self.party))
    let to = Set(event.transferredTo.map(self.party))
    var moved: [String: Subscription] = [:]
    for giver in from.subtracting(to) {
      moved.merge(known[giver] ?? [:]) { $1.outlasts($0) ? $1 : $0 }
      for product in (known[giver] ?? [:]).keys { known[giver]?[product]?.end(at: event.at) }
    }
    for taker in to.subtracting(from) { known[taker, default: [:]].merge(moved) { $1.outlasts($0) ? $1 : $0 } }
  }

  private func apply(_ event: BillingEvent, to known: inout [String: Subscription]) {
    let product = event.productID
    switch event.meaning {
    case .grants(let renews):
      // A purchase that gives no entitlement, or another app's, opens nothing.
      guard entitlements.isEmpty ? !event.entitlements.isEmpty : !entitlements.isDisjoint(with: event.entitlements) else {
        return
      }
      known[product] = Subscription(
        productID: product, endsAt: event.expiresAt, isTrial: event.period == "TRIAL",
        willRenew: event.expiresAt != nil && (renews ?? known[product]?.willRenew ?? false))
    case .stopsRenewing: known[product]?.willRenew = false
    case .refunds: known[product]?.end(at: event.at)
    case .expires:
      known[product]?.hasBillingIssue = event.reason == "BILLING_ERROR"
      known[product]?.end(at: event.expiresAt.map { min($0, event.at) } ?? event.at)
    case .failsToCharge:
      known[product]?.hasBillingIssue = true
      known[product]?.graceUntil = event.graceUntil
    case .transfers, .nothing: break
    }
  }
}
