internal import AuthDomain

/// Takes tokens from buckets, and lets nobody in when nobody can say what is in them.
struct AccountLimits: Sendable {
  let limits: any RateLimiting

  func take(
    _ key: LimitKey, _ limit: RateLimit, at now: Moment, otherwise kind: AccountRefusal.Kind
  ) async throws(AccountRefusal) {
    let decision: LimitDecision
    do { decision = try await limits.take(key, limit, at: now) } catch {
      throw AccountRefusal(error.kind == .cancelled ? .cancelled : .limiterUnavailable, detail: error.reason)
    }
    guard case .refused(let until) = decision else { return }
    var refusal = AccountRefusal(kind, retryAfter: .seconds(RetryAfter.seconds(until: until, from: now)))
    refusal.limit = limit
    throw refusal
  }
}
