public import AuthDomain
internal import AuthStore
internal import PostgreSQL
internal import ServiceKit
internal import Values

/// Whether people's subscriptions run: what is known here, and what RevenueCat says when it has to be asked.
///
/// It fails closed: where nobody can say, nothing is open.
public struct Entitlements: Sendable {
  /// How long what holds, and how long what may take.
  struct Rules: Sendable {
    /// How long a "yes" may be remembered by whoever asks.
    var memory = Duration.seconds(60)
    /// How long RevenueCat may take while a call waits for it.
    var checkPatience = Duration.seconds(2)
    /// How long RevenueCat may take when a person asks for it, or nobody waits.
    var syncPatience = Duration.seconds(10)
    /// How often a person may have RevenueCat asked.
    var limit = RateLimit(perMinute: 10, burst: 5)
    /// Everybody is let in: for development alone.
    var isBypassed = false
  }

  let rules: Rules
  let store: EntitlementStore
  let desk: SubscriberDesk
  let cache: EntitlementMemory
  let limits: any RateLimiting
  let now: @Sendable () -> Instant

  /// Whether an account's subscription runs.
  ///
  /// - Throws: ``AuthDomain/BillingRefusal`` when nobody can say.
  public func isEntitled(_ user: UserID) async throws(BillingRefusal) -> Bool { try await check(user).isEntitled }

  /// Whether an account's subscription runs, and until when that may be remembered.
  ///
  /// A missing one is asked of RevenueCat once before the answer is no: the webhook may be minutes behind the purchase. What it answered,
  /// or that it did not, stands for a while that grows (``AuthDomain/AskingPause``); an event, or the person's own wish, ends that.
  func check(_ user: UserID) async throws(BillingRefusal) -> (isEntitled: Bool, validUntil: Instant) {
    let now = now()
    let limit = now.advanced(by: rules.memory)
    if rules.isBypassed { return (true, limit) }
    if let until = cache.validity(of: user, at: now) { return (true, until) }
    var record = try await known(user)
    if record.isOpen(until: limit, at: now) == nil {
      if let end = record.pause.wait(at: now) {
        guard record.pause.hasFailed else { return (false, now) }
        let wait = Duration.seconds(RetryAfter.seconds(until: end, from: now))
        throw BillingRefusal(.unavailable, detail: "RevenueCat had no answer a moment ago", retryAfter: wait)
      }
      let outcome = try await desk.ask(
        about: user, as: record.customer ?? CustomerID(user), within: rules.checkPatience, since: record)
      guard case .applied(let answered) = outcome else { return (false, now) }
      record = answered
    }
    guard let until = record.isOpen(until: limit, at: now) else { return (false, now) }
    cache.remember(user, until: until, at: now)
    return (true, until)
  }

  /// What is known of an account, without asking.
  func known(_ user: UserID) async throws(BillingRefusal) -> EntitlementRecord {
    do throws(DatabaseError) { return try await store.record(of: user) ?? EntitlementRecord() } catch {
      throw BillingRefusal(error)
    }
  }

  /// What RevenueCat says of an account now, because the person wants to know.
  func sync(_ user: UserID) async throws(BillingRefusal) -> EntitlementRecord {
    try await limit(user)
    return try await asked(user)
  }

  private func asked(_ user: UserID) async throws(BillingRefusal) -> EntitlementRecord {
    let record = try await known(user)
    switch try await desk.ask(about: user, as: record.customer ?? CustomerID(user), within: rules.syncPatience) {
    case .applied(let answered): return answered
    // What the other account has says nothing of this one.
    case .linkedElsewhere, .noAccount: return try await known(user)
    }
  }

  /// Links a customer to an account, once RevenueCat has named the account among the customer's aliases or in a transfer.
  func link(_ id: String, to user: UserID) async throws(BillingRefusal) -> EntitlementRecord {
    guard let customer = CustomerID(id) else {
      throw BillingRefusal(.invalidArgument, detail: "1 to 1500 characters", field: "original_app_user_id")
    }
    try await limit(user)
    if let owner = try await owner(of: customer) {
      guard owner == user else { throw BillingRefusal(.linkedElsewhere) }
      return try await asked(user)
    }
    let outcome = try await desk.ask(about: user, as: CustomerID(user), within: rules.syncPatience)
    guard let owner = try await owner(of: customer) else { throw BillingRefusal(.notVerified) }
    guard owner == user, case .applied(let record) = outcome else { throw BillingRefusal(.linkedElsewhere) }
    return record
  }

  /// So that no person uses up what RevenueCat bears for all.
  private func limit(_ user: UserID) async throws(BillingRefusal) {
    let (now, decision): (Instant, LimitDecision)
    do throws(PortFailure) {
      now = self.now()
      decision = try await limits.take(.billing(of: user), rules.limit, at: now)
    } catch {
      throw BillingRefusal(error.kind == .cancelled ? .cancelled : .limiterUnavailable, detail: error.reason)
    }
    guard case .refused(let until) = decision else { return }
    throw BillingRefusal(.limited, retryAfter: .seconds(RetryAfter.seconds(until: until, from: now)))
  }

  private func owner(of customer: CustomerID) async throws(BillingRefusal) -> UserID? {
    do throws(DatabaseError) { return try await store.user(of: customer) } catch { throw BillingRefusal(error) }
  }
}

extension BillingRefusal {
  init(_ error: DatabaseError) {
    self.init(error.category == .cancelled ? .cancelled : .unavailable, detail: error.description)
  }
}
