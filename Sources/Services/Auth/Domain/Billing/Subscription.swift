public import Values

/// One product that a person has or had, as RevenueCat tells it.
public struct Subscription: Sendable, Hashable {
  /// The product, as the store calls it; empty when nobody said.
  public var productID: String
  /// When it ends unless it is renewed; nil for one that never does.
  public var endsAt: Instant?
  /// Until when the store keeps it open although it could not be charged for; nil without a grace period.
  public var graceUntil: Instant?
  /// Whether it is in its trial.
  public var isTrial: Bool
  /// Whether the store could not charge for it.
  public var hasBillingIssue: Bool
  /// Whether the store is going to renew it.
  public var willRenew: Bool

  /// A subscription from its parts.
  public init(
    productID: String, endsAt: Instant?, graceUntil: Instant? = nil, isTrial: Bool = false, hasBillingIssue: Bool = false,
    willRenew: Bool = false
  ) {
    self.productID = productID
    self.endsAt = endsAt
    self.graceUntil = graceUntil
    self.isTrial = isTrial
    self.hasBillingIssue = hasBillingIssue
    self.willRenew = willRenew
  }

  /// When access ends, grace included; nil for never.
  public var accessEndsAt: Instant? {
    guard let endsAt else { return nil }
    return graceUntil.map { max(endsAt, $0) } ?? endsAt
  }

  /// Whether it gives access. At the very moment of its end it does not any more.
  public func isOpen(at now: Instant) -> Bool { accessEndsAt.map { now < $0 } ?? true }

  /// How it stands.
  public func status(at now: Instant) -> SubscriptionStatus {
    guard isOpen(at: now) else { return hasBillingIssue ? .pastDue : .cancelled }
    return isTrial ? .trialing : .active
  }

  /// Whether this one is worth more than `other`: it ends later. Of two that end together the order of the names decides, so that
  /// the choice never depends on the order in which they were learned.
  public func outlasts(_ other: Subscription) -> Bool {
    switch (accessEndsAt, other.accessEndsAt) {
    case (nil, nil): productID < other.productID
    case (nil, _): true
    case (_, nil): false
    case (let mine?, let theirs?): mine == theirs ? productID < other.productID : mine > theirs
    }
  }

  /// Ends it at `moment`, if it has not ended before.
  mutating func end(at moment: Instant) {
    endsAt = endsAt.map { min($0, moment) } ?? moment
    graceUntil = nil
    willRenew = false
  }
}

extension Sequence where Element == Subscription {
  /// The one that counts: which ends last.
  public var best: Subscription? { self.max { $1.outlasts($0) } }
}
