internal import AuthDomain
public import PostgreSQL
public import Values

/// Removes what has run out, in small batches. Several copies may sweep at once: rows in use are skipped.
public struct AccountSweep: Sendable {
  private let database: Database

  /// A sweep of `database`.
  public init(_ database: Database) { self.database = database }

  /// Nonces that have run out unused.
  ///
  /// - Returns: How many were removed.
  public func removeNonces(expiredBefore limit: Instant) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      delete from auth.nonce where hash in (
        select hash from auth.nonce where expires_at < \(limit) limit \(SweepBatch.size) for update skip locked)
      """)
  }

  /// Exchanged tokens that could not be exchanged again anyway.
  ///
  /// - Returns: How many were removed.
  public func removeExchangedTokens(expiredBefore limit: Instant) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      delete from auth.exchanged_token where hash in (
        select hash from auth.exchanged_token where expires_at < \(limit) limit \(SweepBatch.size)
        for update skip locked)
      """)
  }

  /// Revocations whose access tokens have all run out.
  ///
  /// - Returns: How many were removed.
  public func removeRevocations(irrelevantBefore limit: Instant) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      delete from auth.revocation where cursor in (
        select cursor from auth.revocation where matters_until < \(limit) limit \(SweepBatch.size)
        for update skip locked)
      """)
  }

  /// Notes of sessions that have run out that they did: of any number of copies one does, so that each is counted once.
  ///
  /// - Parameters:
  ///   - since: Before that none is looked for: a session that has ended is in the same index, and there may be many.
  ///   - now: The time.
  /// - Returns: How many had run out.
  public func endSessions(expiredSince since: Instant, until now: Instant) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      update auth.session set ended_at = expires_at, end_cause = \(SessionEnd.expired.rawValue) where (user_id, id) in (
        select user_id, id from auth.session
        where coalesce(ended_at, expires_at) >= \(since) and coalesce(ended_at, expires_at) <= \(now)
          and ended_at is null limit \(SweepBatch.size) for update skip locked)
      """)
  }

  /// Sessions that ended or ran out, whose clients had time enough to be told why.
  ///
  /// - Returns: How many were removed.
  public func removeSessions(overBefore limit: Instant) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      with gone as (
        delete from auth.session where (user_id, id) in (
          select user_id, id from auth.session where coalesce(ended_at, expires_at) < \(limit) limit \(SweepBatch.size)
          for update skip locked)
        returning id)
      delete from auth.session_lookup where session_id in (select id from gone)
      """)
  }
}
