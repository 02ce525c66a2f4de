internal import AuthDomain
internal import RevenueCatProvider
internal import Values

/// RevenueCat's documents as the answers that billing reads.
struct RevenueCatSubscribers: SubscriberReading {
  let client: RevenueCatClient
  /// The names of the entitlements that count; empty for any.
  let entitlements: Set<String>
  /// Whether what was bought in a store's sandbox counts.
  let countsSandbox: Bool

  func subscriber(_ customer: CustomerID, within patience: Duration) async throws(PortFailure) -> SubscriberAnswer {
    let found: RevenueCatSubscriber
    do { found = try await client.subscriber(customer.text, within: patience) } catch {
      throw error.code == .cancelled ? .cancelled : PortFailure(.unavailable, reason: error.description)
    }
    guard let original = CustomerID(found.originalAppUserID) else {
      throw PortFailure(.unavailable, reason: "malformed: original_app_user_id")
    }
    return SubscriberAnswer(
      original: original, snapshot: Self.snapshot(found, entitlements: entitlements, countsSandbox: countsSandbox),
      managementURL: found.managementURL)
  }

  /// What of a document counts. The document keeps entitlements that have expired.
  static func snapshot(
    _ found: RevenueCatSubscriber, entitlements: Set<String>, countsSandbox: Bool = false
  ) -> SubscriptionSnapshot {
    var best: [String: Subscription] = [:]
    for entitlement in found.entitlements where entitlements.isEmpty || entitlements.contains(entitlement.name) {
      guard countsSandbox || !found.sandboxProducts.contains(entitlement.productID) else { continue }
      let next = subscription(entitlement, found.products[entitlement.productID])
      best[next.productID] = best[next.productID].map { next.outlasts($0) ? next : $0 } ?? next
    }
    return SubscriptionSnapshot(
      at: Instant(milliseconds: found.requestedAt), subscriptions: best.values.sorted { $0.productID < $1.productID })
  }

  private static func subscription(
    _ entitlement: RevenueCatSubscriber.Entitlement, _ product: RevenueCatSubscriber.Product?
  ) -> Subscription {
    var subscription = Subscription(
      productID: entitlement.productID, endsAt: entitlement.expiresAt.map { Instant(milliseconds: $0) },
      graceUntil: entitlement.graceUntil.map { Instant(milliseconds: $0) }, isTrial: product?.period == "trial",
      hasBillingIssue: product?.hasBillingIssue ?? false)
    guard let product else { return subscription }
    if let refundedAt = product.refundedAt.map({ Instant(milliseconds: $0) }) {
      subscription.endsAt = subscription.endsAt.map { min($0, refundedAt) } ?? refundedAt
      subscription.graceUntil = nil
      return subscription
    }
    subscription.willRenew =
      subscription.endsAt != nil && !product.isUnsubscribed && !product.hasBillingIssue && product.store != "promotional"
      && !["prepaid", "promotional"].contains(product.period)
    return subscription
  }
}

extension BillingEvent {
  /// A webhook as an event. `receivedAt` dates one that does not say when it happened.
  init(_ webhook: RevenueCatWebhook, receivedAt: Instant) {
    self.init(
      id: webhook.id, type: webhook.type, at: webhook.at.map { Instant(milliseconds: $0) } ?? receivedAt,
      isSandbox: webhook.environment == "SANDBOX", customers: webhook.customers.compactMap { CustomerID($0) },
      transferredFrom: webhook.transferredFrom.compactMap { CustomerID($0) },
      transferredTo: webhook.transferredTo.compactMap { CustomerID($0) }, productID: webhook.productID,
      entitlements: webhook.entitlements, expiresAt: webhook.expiresAt.map { Instant(milliseconds: $0) },
      graceUntil: webhook.graceUntil.map { Instant(milliseconds: $0) }, period: webhook.period, reason: webhook.reason)
  }
}

extension Instant {
  /// So many milliseconds since 1970, held within what a database can store.
  init(milliseconds: Int64) {
    // 9999-12-31; RevenueCat writes dates far away for what ends never in practice.
    self.init(microseconds: max(0, min(milliseconds, 253_402_300_799_000)) * 1000)
  }
}
