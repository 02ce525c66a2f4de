public import PostgreSQL
public import Values

/// Removes the counts of days that are over: no cap looks at them any more, and the ledger has every line.
public struct CapabilityUseSweep: Sendable {
  private let database: Database

  /// A sweep of `database`.
  public init(_ database: Database) { self.database = database }

  /// Removes all counts of the days before that of `moment`, batch by batch. Several copies may sweep at once: rows in use are
  /// skipped.
  ///
  /// - Returns: How many were removed.
  public func remove(before moment: Instant) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      delete from auth.capability_use where (subject_hash, capability, day) in (
        select subject_hash, capability, day from auth.capability_use
        where day < (\(moment) at time zone 'UTC')::date limit \(SweepBatch.size) for update skip locked)
      """)
  }
}
