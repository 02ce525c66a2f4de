internal import OnboardingDomain
public import PostgreSQL
public import Values

/// What waits for a provider that was not set up when it was asked.
public struct WaitingStore: Sendable {
  let database: Database

  /// What waits in `database`.
  public init(_ database: Database) { self.database = database }

  /// What can wait.
  public enum Part: Sendable, Hashable, CaseIterable {
    /// Recordings that are to be written down.
    case recordings
    /// Answers that are to be understood.
    case identity
    /// A voice that is to be made.
    case voice
  }

  /// Those for whom any of some parts waits, at most so many as a sweep takes at once.
  public func people(for parts: Set<Part>) async throws(DatabaseError) -> [UUID] {
    var people: Set<UUID> = []
    for part in parts { people.formUnion(try await database.rows(Self.people(part), as: UUID.self)) }
    return people.sorted { $0.description < $1.description }
  }

  /// What waits is to be done now. The transaction has the person's lock (``SubmissionStore/lock(_:in:)``).
  ///
  /// - Returns: Which parts waited.
  public func wake(
    _ user: UUID, _ parts: Set<Part>, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) -> Set<Part> {
    var woken: Set<Part> = []
    for part in parts {
      let count = try await transaction.execute(Self.wake(part, user, now))
      if count > 0 { woken.insert(part) }
    }
    return woken
  }

  private static let word = ProviderFailure.notConfigured

  private static func people(_ part: Part) -> Query {
    switch part {
    case .recordings:
      """
      select distinct user_id from onboarding.recording where state = 'failed' and reason = \(word) and exists (
        select from onboarding.answer where answer.user_id = recording.user_id and answer.recording = recording.digest)
      limit \(SweepBatch.size)
      """
    case .identity:
      "select user_id from onboarding.identity where failure <> '' and failure = \(word) limit \(SweepBatch.size)"
    case .voice:
      """
      select user_id from onboarding.voice where state = 'failed' and failure = \(word) and consented_at is not null
      limit \(SweepBatch.size)
      """
    }
  }

  private static func wake(_ part: Part, _ user: UUID, _ now: Instant) -> Query {
    switch part {
    case .recordings:
      """
      update onboarding.recording set state = 'pending', reason = '', updated_at = \(now)
      where user_id = \(user) and state = 'failed' and reason = \(word)
      """
    case .identity:
      "update onboarding.identity set failure = 'pending', updated_at = \(now) where user_id = \(user) and failure = \(word)"
    case .voice:
      """
      update onboarding.voice set failure = 'pending', updated_at = \(now)
      where user_id = \(user) and state = 'failed' and failure = \(word) and consented_at is not null
      """
    }
  }
}
