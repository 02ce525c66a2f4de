public import AuthDomain
public import PostgreSQL

/// Removes the buckets that nobody has asked for a long time: they are full again, so nothing is lost.
public struct RateLimitSweep: Sendable {
  private let database: Database

  /// A sweep of `database`.
  public init(_ database: Database) { self.database = database }

  /// Removes all buckets last touched before `limit`, batch by batch. Several copies may sweep at once: rows in use are skipped.
  ///
  /// - Returns: How many were removed.
  public func remove(idleSince limit: Moment) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      delete from auth.rate_limit where key in (
        select key from auth.rate_limit where touched_at < \(Timestamp(limit)) limit \(SweepBatch.size) for update skip locked)
      """)
  }
}
