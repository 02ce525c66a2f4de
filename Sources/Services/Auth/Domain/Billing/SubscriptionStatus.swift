/// How a person's subscription stands.
public enum SubscriptionStatus: String, Sendable, Hashable, CaseIterable {
  /// Nothing is known: there was none.
  case none
  /// Paid for.
  case active
  /// In its trial.
  case trialing
  /// Not paid for, and past its grace if it had one.
  case pastDue = "past_due"
  /// Over.
  case cancelled

  /// Whether what is for subscribers is open.
  public var isEntitled: Bool { self == .active || self == .trialing }

  /// What the first app's two flags meant. A client's word: it says what the client believes and unlocks nothing.
  public init(claimedActive isActive: Bool, entitled isEntitled: Bool) {
    self =
      switch (isActive, isEntitled) {
      case (true, true): .active
      case (true, false): .trialing
      case (false, true): .pastDue
      case (false, false): .cancelled
      }
  }
}
