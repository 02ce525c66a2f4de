/// What RevenueCat has on record of a customer, of what counts.
public struct SubscriberAnswer: Sendable, Hashable {
  /// The customer's first id; whatever was asked for is an alias of it.
  public var original: CustomerID
  /// What the customer has and had.
  public var snapshot: SubscriptionSnapshot
  /// Where the person manages it.
  public var managementURL: String?

  /// An answer from its parts.
  public init(original: CustomerID, snapshot: SubscriptionSnapshot, managementURL: String? = nil) {
    self.original = original
    self.snapshot = snapshot
    self.managementURL = managementURL
  }
}

/// Asks RevenueCat.
public protocol SubscriberReading: Sendable {
  /// What is on record of a customer.
  ///
  /// - Parameters:
  ///   - customer: Any of the customer's ids.
  ///   - patience: How long it may take.
  /// - Throws: ``PortFailure``.
  func subscriber(_ customer: CustomerID, within patience: Duration) async throws(PortFailure) -> SubscriberAnswer
}

/// Why billing gives no answer: a reason code for the caller, a word for the log.
public struct BillingRefusal: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of refusal.
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// Nobody can say whether the subscription runs: nothing is open.
    case unavailable
    /// The customer belongs to another account.
    case linkedElsewhere
    /// RevenueCat does not name the account among the customer's aliases.
    case notVerified
    /// RevenueCat was asked too often for the account.
    case limited
    /// RevenueCat is asked as often as it bears, for all people together.
    case busy
    /// Nobody could say whether a limit was reached.
    case limiterUnavailable
    /// A field is missing or out of its bounds.
    case invalidArgument
    /// The caller gave up.
    case cancelled
  }

  /// The kind.
  public let kind: Kind
  /// The distinct reason, for the log; nothing secret.
  public let detail: String
  /// The field that is wrong; empty for other kinds.
  public let field: String
  /// How long the caller should wait, where that is known.
  public let retryAfter: Duration?

  /// A refusal.
  public init(_ kind: Kind, detail: String = "", field: String = "", retryAfter: Duration? = nil) {
    self.kind = kind
    self.detail = detail
    self.field = field
    self.retryAfter = retryAfter
  }

  /// The kind and the detail.
  public var description: String { detail.isEmpty ? "\(kind)" : "\(kind) (\(detail))" }
}
