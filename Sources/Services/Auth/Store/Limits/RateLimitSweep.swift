public import AuthDomain
public import PostgreSQL

/// Removes the buckets that nobody has asked for a long time: they are full again, so nothing is lost.
public struct RateLimitSweep: Sendable {
  /// Rows removed by one statement, so that none holds its locks for long.
  public static let batchSize: Int64 = 500

  private let database: Database

  /// A sweep of `database`.
  public init(_ database: Database) { self.database = database }

  /// Removes all buckets last touched before `limit`, batch by batch. Several copies may sweep at once: rows in use are skipped.
  ///
  /// - Returns: How many were removed.
  public func remove(idleSince limit: Moment) async throws(DatabaseError) -> Int {
    var total = 0
    while true {
      let removed = try await database.execute(
        """
        delete from auth.rate_limit where key in (
          select key from auth.rate_limit where touched_at < \(Timestamp(limit)) limit \(Self.batchSize) for update skip locked)
        """)
      total += removed
      guard removed == Int(Self.batchSize) else { return total }
    }
  }
}
