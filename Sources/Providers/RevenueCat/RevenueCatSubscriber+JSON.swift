internal import JSON
internal import MessagesCore

extension RevenueCatSubscriber {
  /// Reads the answer to `GET /v1/subscribers/{id}`.
  ///
  /// A time that cannot be read fails the whole document: guessed, it would open or close what it should not.
  init(parsing body: [UInt8]) throws(RevenueCatError) {
    guard let document = try? JSONParser.parse(body), let subscriber = document["subscriber"]?.object else {
      throw RevenueCatError(.malformed, detail: "no subscriber")
    }
    guard let requestedAt = document["request_date_ms"]?.int64 else {
      throw RevenueCatError(.malformed, detail: "no request_date_ms")
    }
    guard let original = subscriber["original_app_user_id"]?.string else {
      throw RevenueCatError(.malformed, detail: "no original_app_user_id")
    }
    var entitlements: [Entitlement] = []
    for member in subscriber["entitlements"]?.object ?? [:] {
      guard member.value.object != nil else { throw RevenueCatError(.malformed, detail: "an entitlement") }
      entitlements.append(
        Entitlement(
          name: member.name, productID: member.value["product_identifier"]?.string ?? "",
          expiresAt: try Self.required(member.value, "expires_date"),
          graceUntil: try Self.time(member.value["grace_period_expires_date"])))
    }
    var products: [String: Product] = [:]
    for member in subscriber["subscriptions"]?.object ?? [:] {
      let product = member.value
      products[member.name] = Product(
        period: product["period_type"]?.string?.lowercased() ?? "", store: product["store"]?.string?.lowercased() ?? "",
        isUnsubscribed: try Self.time(product["unsubscribe_detected_at"]) != nil,
        hasBillingIssue: try Self.time(product["billing_issues_detected_at"]) != nil,
        refundedAt: try Self.time(product["refunded_at"]))
    }
    self.init(
      requestedAt: requestedAt, originalAppUserID: original, managementURL: subscriber["management_url"]?.string,
      entitlements: entitlements, products: products, sandboxProducts: try Self.sandboxProducts(subscriber))
  }

  /// A product may be there as a subscription and as purchases: one that was paid for outweighs those of a sandbox.
  private static func sandboxProducts(_ subscriber: JSONObject) throws(RevenueCatError) -> Set<String> {
    var (sandbox, paid): (Set<String>, Set<String>) = ([], [])
    for kind in ["subscriptions", "non_subscriptions", "other_purchases"] {
      for member in subscriber[kind]?.object ?? [:] {
        for purchase in member.value.array ?? [member.value] {
          let flag = purchase["is_sandbox"]
          guard flag == nil || flag?.bool != nil else { throw RevenueCatError(.malformed, detail: "is_sandbox") }
          if flag?.bool == true { sandbox.insert(member.name) } else { paid.insert(member.name) }
        }
      }
    }
    return sandbox.subtracting(paid)
  }

  /// A time that must be said, though null is an answer: never.
  private static func required(_ value: JSONValue, _ name: String) throws(RevenueCatError) -> Int64? {
    guard let member = value[name] else { throw RevenueCatError(.malformed, detail: "no \(name)") }
    return try time(member)
  }

  private static func time(_ value: JSONValue?) throws(RevenueCatError) -> Int64? {
    guard let value, !value.isNull else { return nil }
    guard let (seconds, nanos) = value.string.flatMap(InternetTime.parse) else {
      throw RevenueCatError(.malformed, detail: "a time")
    }
    return seconds * 1000 + Int64(nanos / 1_000_000)
  }
}
