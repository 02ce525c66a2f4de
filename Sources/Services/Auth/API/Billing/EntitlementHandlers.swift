internal import AuthDomain
internal import ParleyAPI
internal import RPC
internal import Values
internal import WellKnown

/// `EntitlementService`: people and their own subscriptions.
struct EntitlementHandlers: EntitlementService.Handlers {
  let entitlements: Entitlements
  let callers: any BillingCallers

  func getEntitlement(_ request: GetEntitlementRequest, _ call: CallContext) async throws -> GetEntitlementResponse {
    let user = try callers.user(of: call)
    return .init(entitlement: message(try await answer { () async throws(BillingRefusal) in try await entitlements.known(user) }))
  }

  func syncEntitlement(_ request: SyncEntitlementRequest, _ call: CallContext) async throws -> SyncEntitlementResponse {
    let user = try callers.user(of: call)
    return .init(entitlement: message(try await answer { () async throws(BillingRefusal) in try await entitlements.sync(user) }))
  }

  func linkCustomer(_ request: LinkCustomerRequest, _ call: CallContext) async throws -> LinkCustomerResponse {
    let user = try callers.user(of: call)
    let record = try await answer { () async throws(BillingRefusal) in
      try await entitlements.link(request.originalAppUserID, to: user)
    }
    return .init(entitlement: message(record))
  }

  private func message(_ record: EntitlementRecord) -> Entitlement { Entitlement(record, at: entitlements.now()) }
}

/// `EntitlementDirectoryService`: what other services ask.
struct EntitlementDirectoryHandlers: EntitlementDirectoryService.Handlers {
  let entitlements: Entitlements

  func checkEntitlement(_ request: CheckEntitlementRequest, _ call: CallContext) async throws -> CheckEntitlementResponse {
    try await answer { () async throws(BillingRefusal) -> CheckEntitlementResponse in
      guard let user = UserID(request.userID) else {
        throw BillingRefusal(.invalidArgument, detail: "a UUID", field: "user_id")
      }
      let (isEntitled, validUntil) = try await entitlements.check(user)
      let subscription = isEntitled && request.withProduct ? try await entitlements.known(user).subscription : nil
      return .init(isEntitled: isEntitled, validUntil: .init(validUntil), productID: subscription?.productID ?? "")
    }
  }
}

private func answer<Value>(_ body: () async throws(BillingRefusal) -> Value) async throws(RPCError) -> Value {
  do { return try await body() } catch { throw error.rpcError }
}

extension Entitlement {
  /// A record as it is told.
  init(_ record: EntitlementRecord, at now: Instant) {
    let status = record.status(at: now)
    self.init(
      status: .init(status), isEntitled: status.isEntitled,
      productID: record.subscription.flatMap { $0.productID.isEmpty ? nil : $0.productID },
      expiresAt: record.subscription?.accessEndsAt.map { .init($0) }, willRenew: record.subscription?.willRenew ?? false,
      managementURL: record.managementURL, customerID: record.customer?.text, checkedAt: record.checkedAt.map { .init($0) })
  }
}

extension EntitlementStatus {
  init(_ status: SubscriptionStatus) {
    self =
      switch status {
      case .none: .unspecified
      case .active: .active
      case .trialing: .trialing
      case .pastDue: .pastDue
      case .cancelled: .cancelled
      }
  }
}
