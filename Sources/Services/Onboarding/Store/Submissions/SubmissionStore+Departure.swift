public import PostgreSQL
public import Values

/// People whose accounts were deleted. Whoever writes for a person asks under the person's lock, so that nothing is written behind the
/// deletion's back: what was there before it took the lock it deletes, and what comes after is refused.
extension SubmissionStore {
  /// Nothing is taken for a person any more. The transaction has the person's lock.
  ///
  /// - Parameters:
  ///   - user: Who.
  ///   - until: Until when something may still come of what is on its way.
  ///   - now: The time.
  ///   - transaction: What it belongs to.
  public func depart(
    _ user: UUID, until: Instant, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) {
    try await transaction.execute(
      """
      insert into onboarding.departure as kept (user_id, since, until) values (\(user), \(now), \(until))
      on conflict (user_id) do update set until = greatest(kept.until, excluded.until)
      """)
  }

  /// Until when something may still come of what was on its way when the person's account was deleted; nil for everybody else.
  public func departure(of user: UUID, on place: (any QueryRunning)? = nil) async throws(DatabaseError) -> Instant? {
    try await (place ?? database).value(Self.departure(of: user))
  }

  /// Asks the same among other things: a ``PostgreSQL/Instant``, or no row.
  public static func departure(of user: UUID) -> Query { "select until from onboarding.departure where user_id = \(user)" }

  /// Whether somebody's account was deleted, as a condition of SQL: as long as something of theirs may be on its way.
  public static func isGone(_ person: Query) -> Query {
    "exists (select from onboarding.departure as gone where gone.user_id = \(part: person))"
  }

  /// Nothing is on its way any more.
  public func forgetDeparture(of user: UUID, in transaction: Transaction) async throws(DatabaseError) {
    try await transaction.execute("delete from onboarding.departure where user_id = \(user)")
  }

  /// Since when the last deletion is due of what was on its way with an account; nil when none is.
  public func oldestDeparture(by now: Instant) async throws(DatabaseError) -> Instant? {
    try await database.row(
      "select until from onboarding.departure where until <= \(now) order by until limit 1", as: Instant.self)
  }

  /// Those of whom nothing can be on its way any more, at most so many as a sweep takes at once.
  public func departed(by now: Instant) async throws(DatabaseError) -> [UUID] {
    try await database.rows(
      "select user_id from onboarding.departure where until <= \(now) order by until limit \(SweepBatch.size)", as: UUID.self)
  }
}
