internal import EventLoop
public import PostgreSQL
public import Values

/// The answers to requests with keys, in the service's own schema.
///
/// A request is claimed before its handler runs, for as long as a lease; the answer is kept under the claim. Whoever has lost the lease to
/// another run keeps nothing more.
public struct IdempotencyStore: Sendable {
  /// What a claim comes to.
  public enum Outcome: Sendable, Hashable {
    /// The request runs now, and its answer is waited for.
    case claimed
    /// It was answered.
    case answered(StoredAnswer)
    /// It runs elsewhere, until then at most.
    case running(until: Instant)
    /// The key belongs to another request.
    case reused
  }

  private let schema: StaticString
  private let database: Database
  private let patience: Duration
  /// The largest answer that is kept.
  public let maximumAnswerBytes: Int

  /// Answers in `database`.
  ///
  /// - Parameters:
  ///   - schema: The service's schema, which has had ``IdempotencyMigration/create(schema:role:)``.
  ///   - database: Where it is.
  ///   - patience: How long a statement may take.
  ///   - maximumAnswerBytes: The largest answer that is kept. What is larger is not sent again: a repeated request learns that it was
  ///     done.
  public init(
    schema: StaticString, _ database: Database, patience: Duration = .seconds(5), maximumAnswerBytes: Int = 1 << 20
  ) {
    self.schema = schema
    self.database = database
    self.patience = patience
    self.maximumAnswerBytes = maximumAnswerBytes
  }

  // MARK: One request

  /// Claims a request, or tells what has become of it.
  public func claim(_ request: RequestClaim, at now: Instant) async throws(DatabaseError) -> Outcome {
    while true {
      let claim: UUID? = try await database.value(
        """
        insert into \(fragment: schema).idempotency as kept (
          user_id, method, key, request_hash, claim, lease_until, expires_at)
        values (
          \(request.userID), \(request.method), \(request.key), \(request.hash), \(request.run), \(request.leaseUntil),
          \(request.expiresAt))
        on conflict (user_id, method, key) do update set
          request_hash = excluded.request_hash, claim = excluded.claim, lease_until = excluded.lease_until, status = null,
          answer = null, expires_at = excluded.expires_at
        where kept.expires_at <= \(now) or (
          kept.status is null and kept.lease_until <= \(now) and kept.request_hash = excluded.request_hash)
        returning claim
        """, deadline: deadline)
      if claim != nil { return .claimed }
      let row: ([UInt8], Int16?, [UInt8]?, Instant)? = try await database.row(
        """
        select request_hash, status, answer, lease_until from \(fragment: schema).idempotency
        where user_id = \(request.userID) and method = \(request.method) and key = \(request.key)
        """, deadline: deadline)
      // Released or swept away in between.
      guard let (hash, status, answer, leaseUntil) = row else { continue }
      guard hash == request.hash else { return .reused }
      guard let status else { return .running(until: leaseUntil) }
      return .answered(StoredAnswer(status: Int(status), bytes: answer))
    }
  }

  /// Keeps the answer of a request that is claimed.
  ///
  /// - Parameters:
  ///   - answer: The answer. One that is larger than ``maximumAnswerBytes`` leaves its status alone.
  ///   - request: The run that it is the answer of.
  ///   - transaction: Where it is kept together with what the request did; nil for a statement of its own.
  /// - Returns: Whether the claim still stood.
  public func keep(
    _ answer: StoredAnswer, for request: RequestClaim, in transaction: Transaction? = nil
  ) async throws(DatabaseError) -> Bool {
    let bytes = answer.bytes.flatMap { $0.count <= maximumAnswerBytes ? $0 : nil }
    let runner: any QueryRunning = if let transaction { transaction } else { database }
    let kept: UUID? = try await runner.value(
      """
      update \(fragment: schema).idempotency set status = \(Int16(clamping: answer.status)), answer = \(bytes)
      where user_id = \(request.userID) and method = \(request.method) and key = \(request.key) and claim = \(request.run)
        and status is null
      returning claim
      """, deadline: deadline)
    return kept != nil
  }

  /// Gives a claim back, so that the request may come again at once. An answer that was kept stays.
  public func release(_ request: RequestClaim) async throws(DatabaseError) {
    try await database.execute(
      """
      delete from \(fragment: schema).idempotency
      where user_id = \(request.userID) and method = \(request.method) and key = \(request.key) and claim = \(request.run)
        and status is null
      """, deadline: deadline)
  }

  private var deadline: MonotonicInstant { .now().advanced(by: patience) }

  // MARK: All of them

  /// Removes the answers whose time is over, batch by batch. Several copies may sweep at once: rows in use are skipped.
  ///
  /// - Returns: How many were removed.
  public func removeExpired(at now: Instant) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      delete from \(fragment: schema).idempotency where (user_id, method, key) in (
        select user_id, method, key from \(fragment: schema).idempotency where expires_at <= \(now)
        limit \(SweepBatch.size) for update skip locked)
      """)
  }

  /// Removes what was answered to a person: answers may hold what belongs to them.
  ///
  /// - Returns: How many were removed.
  public func removeAll(of user: UUID) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      delete from \(fragment: schema).idempotency where (user_id, method, key) in (
        select user_id, method, key from \(fragment: schema).idempotency where user_id = \(user)
        limit \(SweepBatch.size) for update skip locked)
      """)
  }
}
