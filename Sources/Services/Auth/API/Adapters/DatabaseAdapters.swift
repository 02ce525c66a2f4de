internal import AuthDomain
internal import AuthStore
internal import JOSE
internal import Limits
internal import PostgreSQL
internal import Values

/// The buckets in the database as the broker's limits.
struct SharedLimits: RateLimiting {
  let store: RateLimitStore

  func take(_ key: LimitKey, _ limit: RateLimit, at now: Instant) async throws(PortFailure) -> LimitDecision {
    let answer: BucketAnswer
    do { answer = try await store.prepare(key, limit, at: now).send().answer } catch { throw PortFailure(error) }
    return LimitDecision(answer)
  }

  func refusal(of key: LimitKey, _ limit: RateLimit, at now: Instant) -> LimitDecision? {
    store.prepare(key, limit, at: now).refusal.map { LimitDecision($0) }
  }
}

extension RateLimitStore {
  /// A token that is taken together with what depends on it.
  func prepare(_ key: LimitKey, _ limit: RateLimit, at now: Instant) -> PreparedTake {
    prepare(
      key.text, BucketRate(perMinute: limit.perMinute, burst: limit.burst), at: now)
  }
}

extension LimitDecision {
  /// What a bucket has answered.
  init(_ answer: BucketAnswer) {
    self = answer.refusedUntil.map { .refused(until: $0) } ?? .allowed
  }
}

/// The table of issuances as the broker's audit.
struct DurableAudit: IssuanceAuditing {
  let store: IssuanceStore
  /// Where persons' limits are taken from.
  let limits: RateLimitStore

  func record(_ record: IssuanceRecord) async throws(PortFailure) {
    do { try await store.add(record) } catch { throw PortFailure(error) }
  }

  func issue(
    _ record: IssuanceRecord, perDay: Int?, to holder: TokenHolder, within limit: PersonLimit?
  ) async throws(PortFailure) -> IssuanceDecision {
    let take = limit.map { limits.prepare($0.key, $0.limit, at: record.at) }
    do { return try await store.issue(record, perDay: perDay, to: holder, taking: take) } catch { throw PortFailure(error) }
  }

  func isCapped(_ subject: SubjectHash, _ capability: String, at now: Instant) -> Bool {
    store.isCapped(subject, capability, at: now)
  }
}

/// HMAC-SHA256 with a salt that all copies of the service share.
struct SaltedSubjects: SubjectHashing {
  /// Where the salt comes from.
  enum Salt: Sendable {
    /// The operator's own.
    case given([UInt8])
    /// Made by the migration.
    case stored(SubjectSaltStore)
  }

  let salt: Salt

  var givenSalt: [UInt8]? { if case .given(let bytes) = salt { bytes } else { nil } }

  func hash(_ subject: String) async throws(PortFailure) -> SubjectHash {
    let key: [UInt8]
    switch salt {
    case .given(let bytes): key = bytes
    case .stored(let store):
      do { key = try await store.salt() } catch { throw PortFailure(error) }
    }
    return SubjectHash(bytes: HMACSHA256.authenticationCode(for: Array(subject.utf8), key: key))
  }
}

extension PortFailure {
  init(_ error: DatabaseError) {
    self.init(error.category == .cancelled ? .cancelled : .unavailable, reason: error.description)
  }
}
