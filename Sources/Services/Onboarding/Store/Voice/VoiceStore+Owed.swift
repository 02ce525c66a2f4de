public import PostgreSQL
public import Values

extension VoiceStore {
  /// Since when the voice that has been unwanted for the longest is to be deleted at the provider; nil when there is none.
  public func oldestUnwanted() async throws(DatabaseError) -> Instant? {
    try await database.row(
      "select since from onboarding.unwanted_voice order by since limit 1", as: Instant.self)
  }

  /// Since when the last look is due for a voice that may have come to be though nobody wants it; nil when none is.
  public func oldestLookup(by now: Instant) async throws(DatabaseError) -> Instant? {
    try await database.row(
      """
      select greatest(until, unwanted_since) as due from onboarding.expected_voice
      where unwanted_since is not null and until <= \(now) order by due limit 1
      """, as: Instant.self)
  }

  /// A voice that is being made, and how often it got a job again.
  public struct Awaited: Sendable, Hashable {
    /// Whose it will be.
    public var user: UUID
    /// How often it got a job again.
    public var renewals: Int
    /// When it was begun, or got a job last.
    public var since: Instant
  }

  /// The voices that are being made, at most so many as a sweep takes at once.
  public func awaited() async throws(DatabaseError) -> [Awaited] {
    let rows: [(UUID, Int32, Instant)] = try await database.rows(
      """
      select user_id, renewals, updated_at from onboarding.voice where state = 'cloning' order by updated_at
      limit \(SweepBatch.size)
      """)
    return rows.map { Awaited(user: $0.0, renewals: Int($0.1), since: $0.2) }
  }

  /// Notes that a voice that is being made got a job again.
  public func renewed(of user: UUID, at now: Instant, in transaction: Transaction) async throws(DatabaseError) {
    try await transaction.execute(
      "update onboarding.voice set renewals = renewals + 1, updated_at = \(now) where user_id = \(user) and state = 'cloning'")
  }
}
