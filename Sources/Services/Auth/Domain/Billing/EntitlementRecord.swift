public import Values

/// What is known of one person's subscription.
public struct EntitlementRecord: Sendable, Hashable {
  /// The subscription that counts; nil when there never was one.
  public var subscription: Subscription?
  /// Where the person manages it.
  public var managementURL: String?
  /// The RevenueCat customer that is linked.
  public var customer: CustomerID?
  /// When RevenueCat was heard last; nil when never.
  public var checkedAt: Instant?
  /// When RevenueCat was asked last and answered; nil when never.
  public var askedAt: Instant?
  /// What keeps calls from asking RevenueCat.
  public var pause = AskingPause()

  /// A record from its parts.
  public init(
    subscription: Subscription? = nil, managementURL: String? = nil, customer: CustomerID? = nil, checkedAt: Instant? = nil,
    askedAt: Instant? = nil
  ) {
    self.subscription = subscription
    self.managementURL = managementURL
    self.customer = customer
    self.checkedAt = checkedAt
    self.askedAt = askedAt
  }

  /// How it stands.
  public func status(at now: Instant) -> SubscriptionStatus { subscription?.status(at: now) ?? .none }

  /// Until when "yes" may be remembered: no longer than `atMost`, and not past the end of access. Nil when the answer is no.
  public func isOpen(until atMost: Instant, at now: Instant) -> Instant? {
    guard let subscription, subscription.isOpen(at: now) else { return nil }
    return subscription.accessEndsAt.map { min($0, atMost) } ?? atMost
  }
}
