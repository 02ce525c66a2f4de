internal import JSON

/// An event as RevenueCat posts it: `{"api_version":"1.0","event":{…}}`.
///
/// Only what is needed is read, and leniently: a type or a field that appears later must not keep an event out. Times are in
/// milliseconds since 1970.
public struct RevenueCatWebhook: Sendable, Hashable {
  /// What is wrong with a body.
  public enum Fault: Error, Sendable, Hashable {
    /// It is no JSON, or holds no event with an id and a type.
    case malformed
    /// It names no customer, and is of a type that must.
    case noCustomer
  }

  /// The event's id, the same in every repetition.
  public let id: String
  /// Its type: `RENEWAL`.
  public let type: String
  /// When it happened.
  public let at: Int64?
  /// `SANDBOX` or `PRODUCTION`.
  public let environment: String
  /// `app_user_id`, `original_app_user_id`, then `aliases`, each once.
  public let customers: [String]
  /// Who lost their purchases.
  public let transferredFrom: [String]
  /// Who got them.
  public let transferredTo: [String]
  /// The product.
  public let productID: String
  /// The entitlements that it gives.
  public let entitlements: [String]
  /// When it ends.
  public let expiresAt: Int64?
  /// Until when the store keeps it open without being paid.
  public let graceUntil: Int64?
  /// `NORMAL`, `TRIAL` …
  public let period: String
  /// Why it was cancelled or why it expired.
  public let reason: String

  /// Reads a body.
  public init(parsing body: [UInt8]) throws(Fault) {
    guard let event = (try? JSONParser.parse(body))?["event"], let id = event["id"]?.string, !id.isEmpty, id.utf8.count <= 256,
      let type = event["type"]?.string, !type.isEmpty, type.utf8.count <= 128
    else { throw .malformed }
    func texts(_ name: String) -> [String] { (event[name]?.array ?? []).compactMap(\.string) }
    self.id = id
    self.type = type
    at = event["event_timestamp_ms"]?.int64
    environment = event["environment"]?.string ?? ""
    var customers: [String] = []
    for name in [event["app_user_id"]?.string, event["original_app_user_id"]?.string] + texts("aliases") {
      if let name, !name.isEmpty, !customers.contains(name) { customers.append(name) }
    }
    guard type == "TRANSFER" || event["app_user_id"]?.string?.isEmpty == false else { throw .noCustomer }
    self.customers = customers
    transferredFrom = texts("transferred_from")
    transferredTo = texts("transferred_to")
    productID = event["product_id"]?.string ?? ""
    let named = texts("entitlement_ids")
    entitlements = named.isEmpty ? [event["entitlement_id"]?.string].compactMap(\.self) : named
    expiresAt = event["expiration_at_ms"]?.int64
    graceUntil = event["grace_period_expiration_at_ms"]?.int64
    period = event["period_type"]?.string ?? ""
    reason = event["cancel_reason"]?.string ?? event["expiration_reason"]?.string ?? ""
  }
}
