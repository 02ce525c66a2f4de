public import PostgreSQL

/// Removes the buckets that nobody has asked for a long time: they are full again, so nothing is lost.
public struct RateLimitSweep: Sendable {
  private let schema: StaticString
  private let database: Database

  /// A sweep of the buckets in one schema of `database`.
  public init(schema: StaticString, _ database: Database) {
    self.schema = schema
    self.database = database
  }

  /// Removes all buckets last touched before `limit`, batch by batch. Several copies may sweep at once: rows in use are skipped.
  ///
  /// - Returns: How many were removed.
  public func remove(idleSince limit: Timestamp) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      delete from \(fragment: schema).rate_limit where key in (
        select key from \(fragment: schema).rate_limit where touched_at < \(limit) limit \(SweepBatch.size) for update skip locked)
      """)
  }
}
