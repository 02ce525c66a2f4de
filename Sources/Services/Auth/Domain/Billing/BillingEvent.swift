public import Values

/// Something that happened to a RevenueCat customer, as a webhook told it.
public struct BillingEvent: Sendable, Hashable {
  /// RevenueCat's id of it, the same in every repetition.
  public var id: String
  /// Its type as RevenueCat writes it; new ones may appear.
  public var type: String
  /// When it happened, by RevenueCat's clock.
  public var at: Instant
  /// Whether it is of a store's sandbox, where nobody pays.
  public var isSandbox: Bool
  /// The ids of the customer, the one in use first, then the original one and the aliases. Empty for a transfer.
  public var customers: [CustomerID]
  /// Who lost their purchases in a transfer.
  public var transferredFrom: [CustomerID]
  /// Who got them.
  public var transferredTo: [CustomerID]
  /// The product, empty when none is named.
  public var productID: String
  /// The entitlements that the product gives.
  public var entitlements: [String]
  /// When the subscription ends; nil for what never does.
  public var expiresAt: Instant?
  /// Until when the store keeps it open although it could not be charged for.
  public var graceUntil: Instant?
  /// `NORMAL`, `TRIAL`, `INTRO`, `PROMOTIONAL`, `PREPAID`, or empty.
  public var period: String
  /// Why it was cancelled or why it expired; empty for other types.
  public var reason: String

  /// An event from its parts.
  public init(
    id: String, type: String, at: Instant, isSandbox: Bool = false, customers: [CustomerID] = [],
    transferredFrom: [CustomerID] = [], transferredTo: [CustomerID] = [], productID: String = "", entitlements: [String] = [],
    expiresAt: Instant? = nil, graceUntil: Instant? = nil, period: String = "NORMAL", reason: String = ""
  ) {
    self.id = id
    self.type = type
    self.at = at
    self.isSandbox = isSandbox
    self.customers = customers
    self.transferredFrom = transferredFrom
    self.transferredTo = transferredTo
    self.productID = productID
    self.entitlements = entitlements
    self.expiresAt = expiresAt
    self.graceUntil = graceUntil
    self.period = period
    self.reason = reason
  }

  /// What it means for who has access.
  public enum Meaning: Sendable, Hashable {
    /// The product is theirs until its expiry; `renews` where the event says whether the store is going to renew it.
    case grants(renews: Bool?)
    /// The store is not going to renew it. Access stays until it expires.
    case stopsRenewing
    /// The money went back: access ends.
    case refunds
    /// It is over.
    case expires
    /// The store could not charge for it.
    case failsToCharge
    /// All that one customer had is another's.
    case transfers
    /// Nothing by itself: tests, invoices, announcements, and types that nobody knows yet.
    case nothing
  }

  /// What it means for who has access. What it announces for later (another product, a pause) comes with an event of its own.
  public var meaning: Meaning {
    switch type {
    case "INITIAL_PURCHASE", "RENEWAL", "UNCANCELLATION": .grants(renews: !["PROMOTIONAL", "PREPAID"].contains(period))
    case "NON_RENEWING_PURCHASE": .grants(renews: false)
    case "SUBSCRIPTION_EXTENDED", "TEMPORARY_ENTITLEMENT_GRANT", "REFUND_REVERSED": .grants(renews: nil)
    case "CANCELLATION": reason == "CUSTOMER_SUPPORT" ? .refunds : .stopsRenewing
    case "EXPIRATION": .expires
    case "BILLING_ISSUE": .failsToCharge
    case "TRANSFER": .transfers
    default: .nothing
    }
  }

  /// All the ids in it.
  public var allCustomers: [CustomerID] { customers + transferredFrom + transferredTo }

  /// The order in which events are taken, whatever the order in which they came: their time, then their id.
  public static func precedes(_ left: BillingEvent, _ right: BillingEvent) -> Bool {
    left.at == right.at ? left.id.utf8.lexicographicallyPrecedes(right.id.utf8) : left.at < right.at
  }
}
