public import PostgreSQL

/// What people have answered who have no account yet.
public struct AnonymousRecordStore: Sendable {
  let database: Database

  /// Records in `database`.
  public init(_ database: Database) { self.database = database }

  /// Keeps a record in the place of the one before.
  ///
  /// - Parameters:
  ///   - record: JSON.
  ///   - hash: SHA-256 of the secret.
  ///   - expiresAt: Until when it is kept.
  public func keep(_ record: String, under hash: [UInt8], until expiresAt: Timestamp) async throws(DatabaseError) {
    try await database.execute(
      """
      insert into onboarding.anonymous_record_lookup (key_hash, record, expires_at)
      values (\(hash), \(record)::text::jsonb, \(expiresAt))
      on conflict (key_hash) do update set record = excluded.record, expires_at = excluded.expires_at
      """)
  }

  /// A record; nil where there is none any more.
  public func record(under hash: [UInt8], at now: Timestamp) async throws(DatabaseError) -> String? {
    try await database.reads.value(
      "select record::text from onboarding.anonymous_record_lookup where key_hash = \(hash) and expires_at > \(now)")
  }

  /// Takes a record away with the transaction that makes it somebody's.
  public func take(under hash: [UInt8], at now: Timestamp, in transaction: Transaction) async throws(DatabaseError) -> String? {
    try await transaction.value(
      """
      delete from onboarding.anonymous_record_lookup where key_hash = \(hash) and expires_at > \(now) returning record::text
      """)
  }

  /// Removes what has run out.
  public func sweep(at now: Timestamp) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      delete from onboarding.anonymous_record_lookup where key_hash in (
        select key_hash from onboarding.anonymous_record_lookup where expires_at <= \(now)
        limit \(SweepBatch.size) for update skip locked)
      """)
  }
}
