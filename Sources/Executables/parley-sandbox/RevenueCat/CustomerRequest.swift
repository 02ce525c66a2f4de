import Glibc
import JSON

/// A customer that somebody wishes RevenueCat to have.
struct CustomerRequest: Sendable {
  /// An entitlement of the customer's.
  private struct Entitlement: Sendable {
    let name: String
    let product: String
    /// Seconds since 1970; nil for one that never ends.
    let expiresAt: Int64?
  }

  /// The fields of the control request.
  static let names: Set<String> = ["ids", "entitlements", "period", "unsubscribed", "billingIssue", "managementUrl"]

  /// All ids; the first one is the original.
  let ids: [String]
  private var entitlements: [Entitlement] = []
  private var period = "normal"
  private var isUnsubscribed = false
  private var hasBillingIssue = false
  private var managementURL: String?

  /// A customer that was made by being asked for.
  init(newcomer id: String) { ids = [id] }

  /// Reads a wish; `expiresIn` counts from `now`, in seconds.
  init(_ request: ControlRequest, now: Int64) throws(ControlRequest.Fault) {
    ids = (request.body["ids"]?.array ?? []).compactMap(\.string)
    guard !ids.isEmpty, ids.count == request.body["ids"]?.array?.count, !ids.contains("") else {
      throw .init(message: "'ids' is not a list of the customer's ids, the original one first")
    }
    period = try request.text("period") ?? "normal"
    isUnsubscribed = try request.flag("unsubscribed")
    hasBillingIssue = try request.flag("billingIssue")
    managementURL = try request.text("managementUrl")
    guard let wished = request.body["entitlements"] else { return }
    guard let object = wished.object else { throw .init(message: "'entitlements' is not an object by name") }
    for member in object {
      guard let product = member.value["productId"]?.string, let ends = member.value["expiresIn"],
        ends.isNull || ends.int64.map({ abs($0) <= 315_360_000 }) == true
      else { throw .init(message: "'\(member.name)' has no 'productId' and 'expiresIn' (seconds from now, or null for never)") }
      entitlements.append(.init(name: member.name, product: product, expiresAt: ends.int64.map { now + $0 }))
    }
  }

  /// The answer to `GET /v1/subscribers/{id}`.
  func document(now: Int64) -> JSONValue {
    var active: JSONObject = [:]
    var products: JSONObject = [:]
    for entitlement in entitlements {
      let expiry = entitlement.expiresAt.map { JSONValue.string(Self.date($0)) } ?? .null
      active[entitlement.name] = [
        "expires_date": expiry, "grace_period_expires_date": .null, "product_identifier": .string(entitlement.product),
        "purchase_date": .string(Self.date(now)),
      ]
      products[entitlement.product] = [
        "expires_date": expiry, "period_type": .string(period), "store": "app_store", "is_sandbox": false,
        "unsubscribe_detected_at": isUnsubscribed ? .string(Self.date(now)) : .null,
        "billing_issues_detected_at": hasBillingIssue ? .string(Self.date(now)) : .null, "refunded_at": .null,
      ]
    }
    return [
      "request_date": .string(Self.date(now)), "request_date_ms": .number(JSONNumber(now * 1000)),
      "subscriber": [
        "original_app_user_id": .string(ids[0]), "first_seen": .string(Self.date(now)),
        "management_url": managementURL.map { .string($0) } ?? .null, "entitlements": .object(active),
        "subscriptions": .object(products), "non_subscriptions": [:], "other_purchases": [:],
      ],
    ]
  }

  private static func date(_ seconds: Int64) -> String {
    var time = time_t(seconds)
    var parts = tm()
    gmtime_r(&time, &parts)
    func pad(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(parts.tm_year + 1900)-\(pad(parts.tm_mon + 1))-\(pad(parts.tm_mday))"
      + "T\(pad(parts.tm_hour)):\(pad(parts.tm_min)):\(pad(parts.tm_sec))Z"
  }
}
