internal import AuthDomain
internal import Limits
internal import PostgreSQL
internal import Values

/// Takes tokens from buckets, and lets nobody in when nobody can say what is in them.
struct AccountLimits: Sendable {
  let store: RateLimitStore

  func take(
    _ key: LimitKey, _ limit: RateLimit, at now: Instant, otherwise kind: AccountRefusal.Kind
  ) async throws(AccountRefusal) {
    try await gate(key, limit, at: now, otherwise: kind).pass()
  }

  /// A limit that a call takes from together with its first question.
  func gate(_ key: LimitKey, _ limit: RateLimit, at now: Instant, otherwise kind: AccountRefusal.Kind) -> LimitGate {
    LimitGate(take: store.prepare(key, limit, at: now), limit: limit, now: now, kind: kind)
  }
}

/// A token that a call needs before anything else is done for it.
struct LimitGate: Sendable {
  /// The token.
  let take: PreparedTake
  private let limit: RateLimit
  private let now: Instant
  private let kind: AccountRefusal.Kind

  init(take: PreparedTake, limit: RateLimit, now: Instant, kind: AccountRefusal.Kind) {
    (self.take, self.limit, self.now, self.kind) = (take, limit, now, kind)
  }

  /// Takes it, and refuses the call where there is none.
  func pass() async throws(AccountRefusal) {
    _ = try await pass { take throws(DatabaseError) in (try await take.send().answer, ()) }
  }

  /// The same, with what the call asks in the same round trip.
  func pass<Value>(
    _ ask: (PreparedTake) async throws(DatabaseError) -> (answer: BucketAnswer, value: Value)
  ) async throws(AccountRefusal) -> Value {
    let found: (answer: BucketAnswer, value: Value)
    do throws(DatabaseError) { found = try await ask(take) } catch {
      let failure = PortFailure(error)
      throw AccountRefusal(failure.kind == .cancelled ? .cancelled : .limiterUnavailable, detail: failure.reason)
    }
    try judge(found.answer)
    return found.value
  }

  /// Refuses the call where the token was.
  func judge(_ answer: BucketAnswer) throws(AccountRefusal) {
    guard let until = answer.refusedUntil else { return }
    var refusal = AccountRefusal(kind, retryAfter: .seconds(RetryAfter.seconds(until: until, from: now)))
    refusal.limit = limit
    throw refusal
  }
}
