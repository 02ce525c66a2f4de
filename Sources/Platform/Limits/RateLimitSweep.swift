public import PostgreSQL
public import Values

/// Removes the buckets that nobody has asked for a long time: they are full again, so nothing is lost.
public struct RateLimitSweep: Sendable {
  private let schema: StaticString
  private let database: Database

  /// A sweep of the buckets in one schema of `database`.
  public init(schema: StaticString, _ database: Database) {
    self.schema = schema
    self.database = database
  }

  /// Removes the buckets that bear a person's name, whatever their limits: what is left of somebody whose account is deleted.
  ///
  /// - Returns: How many were removed.
  public func removeAll(of user: UUID) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      delete from \(fragment: schema).rate_limit where key in (
        select key from \(fragment: schema).rate_limit where key like '%:' || \(user)::text limit \(SweepBatch.size)
        for update skip locked)
      """)
  }

  /// Removes all buckets that nobody has touched for so long, batch by batch. Several copies may sweep at once: rows in use are
  /// skipped. A clock that is ahead of the database's removes none that is not idle by that one.
  ///
  /// - Returns: How many were removed.
  public func remove(idleFor idle: Duration, at now: Instant) async throws(DatabaseError) -> Int {
    let time = RateLimitStatement.capped("\(now)", database.configuration.clockLead)
    let limit: Query = "\(part: time) - make_interval(secs => \(idle / .seconds(1)))"
    return try await database.sweep(
      """
      delete from \(fragment: schema).rate_limit where key in (
        select key from \(fragment: schema).rate_limit where touched_at < \(part: limit) limit \(SweepBatch.size) for update skip locked)
      """)
  }
}
