internal import OnboardingDomain
public import PostgreSQL
public import Values

/// What is not made yet of people's answers, or could not be made and may be by trying again.
public struct UnfinishedStore: Sendable {
  let database: Database

  /// What is unfinished in `database`.
  public init(_ database: Database) { self.database = database }

  /// Something of somebody's that is unfinished.
  public struct Part: Sendable, Hashable {
    /// Whose.
    public var user: UUID
    /// What: `submission`, `storing`, `transcription`, `identity` or `voice`.
    public var name: String
    /// Why, in a word.
    public var reason: String
    /// How many of it there are.
    public var count: Int
    /// Since when: that of the oldest.
    public var since: Instant
  }

  /// The first people behind a place, by their identifiers.
  ///
  /// - Parameters:
  ///   - after: The place; nil for the beginning.
  ///   - limit: How many people.
  ///   - lasting: Reasons for which trying again is of no use.
  public func people(after: UUID?, limit: Int, but lasting: Set<String>) async throws(DatabaseError) -> [UUID] {
    let (after, most) = (after ?? UUID(high: 0, low: 0), Int64(limit))
    let branches = Self.branches("user_id > \(after)", lasting)
      .map { "(select distinct user_id from (\(part: $0)) as found order by user_id limit \(most))" as Query }
    return try await database.rows(
      "select user_id from (\(part: Self.union(branches))) as people group by user_id order by user_id limit \(most)",
      as: UUID.self)
  }

  /// What is unfinished of people's, by their identifiers.
  public func parts(of people: [UUID], but lasting: Set<String>) async throws(DatabaseError) -> [Part] {
    let rows: [(UUID, String, String, Int64, Instant)] = try await database.rows(
      """
      select user_id, name, reason, count(*), min(since) from (
        \(part: Self.union(Self.branches("user_id = any(\(people))", lasting)))) as parts
      group by user_id, name, reason order by user_id, name, reason
      """)
    return rows.map { Part(user: $0.0, name: $0.1, reason: $0.2, count: Int($0.3), since: $0.4) }
  }

  private static func union(_ branches: [Query]) -> Query {
    branches.dropFirst().reduce(branches[0]) { "\(part: $0) union all \(part: $1)" }
  }

  /// What is unfinished, each kind for itself, of those for whom `condition` holds.
  private static func branches(_ condition: Query, _ lasting: Set<String>) -> [Query] {
    let lasting = lasting.sorted()
    let isAnswer: Query = """
      exists (select from onboarding.answer where answer.user_id = recording.user_id and answer.recording = recording.digest)
      """
    return [
      """
      select user_id, 'submission' as name, case when done_at is null then 'running' else 'given_up' end as reason,
        coalesce(done_at, created_at) as since
      from onboarding.submission where (done_at is null or stage = 'failed') and \(part: condition) and not exists (
        select from onboarding.submission as newer
        where newer.user_id = submission.user_id and newer.number > submission.number)
      """,
      """
      select user_id, 'storing' as name, 'pending' as reason, created_at as since
      from onboarding.recording where stored_at is null and \(part: condition) and \(part: isAnswer)
      """,
      """
      select user_id, 'transcription' as name, case when state = 'pending' then 'pending' else reason end as reason,
        updated_at as since
      from onboarding.recording
      where state in ('pending', 'failed') and reason <> all(\(lasting)) and \(part: condition) and \(part: isAnswer)
      """,
      """
      select user_id, 'identity' as name, failure as reason, coalesce(extracted_at, updated_at) as since
      from onboarding.identity where failure <> '' and failure <> all(\(lasting)) and \(part: condition)
      """,
      """
      select user_id, 'voice' as name, case when state = 'failed' then failure else 'pending' end as reason, updated_at as since
      from onboarding.voice
      where state in ('cloning', 'failed') and failure <> all(\(lasting)) and consented_at is not null and \(part: condition)
      """,
    ]
  }
}
