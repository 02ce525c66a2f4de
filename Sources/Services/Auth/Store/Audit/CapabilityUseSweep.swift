public import AuthDomain
public import PostgreSQL

/// Removes the counts of days that are over: no cap looks at them any more, and the ledger has every line.
public struct CapabilityUseSweep: Sendable {
  /// Rows removed by one statement, so that none holds its locks for long.
  public static let batchSize: Int64 = 500

  private let database: Database

  /// A sweep of `database`.
  public init(_ database: Database) { self.database = database }

  /// Removes all counts of the days before that of `moment`, batch by batch. Several copies may sweep at once: rows in use are
  /// skipped.
  ///
  /// - Returns: How many were removed.
  public func remove(before moment: Moment) async throws(DatabaseError) -> Int {
    var total = 0
    while true {
      let removed = try await database.execute(
        """
        delete from auth.capability_use where (subject_hash, capability, day) in (
          select subject_hash, capability, day from auth.capability_use
          where day < (\(Timestamp(moment)) at time zone 'UTC')::date limit \(Self.batchSize) for update skip locked)
        """)
      total += removed
      guard removed == Int(Self.batchSize) else { return total }
    }
  }
}
