public import PostgreSQL
public import Values

/// What people have answered who have no account yet.
public struct AnonymousRecordStore: Sendable {
  let database: Database

  /// Records in `database`.
  public init(_ database: Database) { self.database = database }

  /// How many parts the records are counted in, each with the same share of what all may take.
  public static let parts = 16

  /// Keeps a record in the place of the one before, and in that of the oldest others where it does not fit beside them.
  ///
  /// - Parameters:
  ///   - record: JSON.
  ///   - hash: SHA-256 of the secret.
  ///   - expiresAt: Until when it is kept.
  ///   - most: How many bytes all records may take together, of which each of the ``parts`` has the same share.
  /// - Returns: How many others were removed.
  public func keep(
    _ record: String, under hash: [UInt8], until expiresAt: Instant, most: Int
  ) async throws(DatabaseError) -> Int {
    let removed: Int32? = try await database.value(
      "select onboarding.keep_anonymous(\(hash), \(record), \(expiresAt), \(Int64(most / Self.parts)))")
    return Int(removed ?? 0)
  }

  /// A record; nil where there is none any more.
  public func record(under hash: [UInt8], at now: Instant) async throws(DatabaseError) -> String? {
    try await database.reads.value(
      "select record::text from onboarding.anonymous_record_lookup where key_hash = \(hash) and expires_at > \(now)")
  }

  /// Takes a record away with the transaction that makes it somebody's.
  public func take(under hash: [UInt8], at now: Instant, in transaction: Transaction) async throws(DatabaseError) -> String? {
    try await transaction.value(
      """
      delete from onboarding.anonymous_record_lookup where key_hash = \(hash) and expires_at > \(now) returning record::text
      """)
  }

  /// Removes what has run out, of one part at a time: a transaction counts in one.
  ///
  /// - Returns: How many records that were.
  public func sweep(at now: Instant) async throws(DatabaseError) -> Int {
    var total = 0
    while true {
      let removed = try await database.execute(
        """
        delete from onboarding.anonymous_record_lookup where key_hash in (
          select key_hash from onboarding.anonymous_record_lookup where expires_at <= \(now) and part = (
            select part from onboarding.anonymous_record_lookup where expires_at <= \(now) order by expires_at limit 1)
          limit \(SweepBatch.size) for update skip locked)
        """)
      total += removed
      guard removed > 0 else { return total }
    }
  }

  /// How many bytes all records take, as they are counted.
  public func bytes() async throws(DatabaseError) -> Int64 {
    try await database.value("select sum(bytes)::bigint from onboarding.anonymous_size") ?? 0
  }
}
