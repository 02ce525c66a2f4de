/// What RevenueCat has on record of a customer: the `subscriber` document of its first API.
///
/// Times are in milliseconds since 1970.
public struct RevenueCatSubscriber: Sendable, Hashable {
  /// An entitlement that the customer has or had: expired ones stay in the document.
  public struct Entitlement: Sendable, Hashable {
    /// Its name.
    public let name: String
    /// The product that gives it; empty when none is named.
    public let productID: String
    /// When it ends; nil for one that never does.
    public let expiresAt: Int64?
    /// Until when it stays although the store could not charge.
    public let graceUntil: Int64?
  }

  /// A subscription or a purchase, by its product.
  public struct Product: Sendable, Hashable {
    /// `normal`, `trial`, `intro`, `promotional` or `prepaid`.
    public let period: String
    /// `app_store`, `play_store`, `promotional` …
    public let store: String
    /// Whether the person turned renewal off.
    public let isUnsubscribed: Bool
    /// Whether the store could not charge.
    public let hasBillingIssue: Bool
    /// When the money went back.
    public let refundedAt: Int64?
  }

  /// When it was asked, by RevenueCat's clock.
  public let requestedAt: Int64
  /// The customer's first id; others are aliases of it.
  public let originalAppUserID: String
  /// Where the person manages the subscription.
  public let managementURL: String?
  /// The entitlements, in the order of the document.
  public let entitlements: [Entitlement]
  /// What is known of the products, by their ids.
  public let products: [String: Product]
  /// The products of which nothing was bought but in a store's sandbox, where nobody pays.
  public let sandboxProducts: Set<String>
}
