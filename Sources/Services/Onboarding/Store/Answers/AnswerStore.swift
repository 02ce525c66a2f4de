public import PostgreSQL

/// What people have answered.
public struct AnswerStore: Sendable {
  let database: Database

  /// Answers in `database`.
  public init(_ database: Database) { self.database = database }

  /// What became of an answer.
  public struct Kept: Sendable, Hashable {
    /// How many steps have an answer.
    public var answered: Int
    /// Whether a later one was there.
    public var isSuperseded: Bool
  }

  /// All answers of a person, in the order of the steps.
  public func answers(of user: UUID) async throws(DatabaseError) -> [KeptAnswer] {
    try await database.rows("select \(part: KeptAnswer.columns) from onboarding.answer where user_id = \(user) order by step")
  }

  /// Keeps one answer, unless a later one is there.
  ///
  /// - Parameters:
  ///   - answer: The answer; its recording is there.
  ///   - user: Whose it is.
  ///   - now: The time.
  ///   - transaction: What it belongs to.
  public func keep(
    _ answer: KeptAnswer, of user: UUID, at now: Timestamp, in transaction: Transaction
  ) async throws(DatabaseError) -> Kept {
    let changed = try await transaction.executeAll([Self.upsert(answer, of: user, at: now), Self.settle(user, at: now)])
    let answered: Int64? = try await transaction.value("select count(*) from onboarding.answer where user_id = \(user)")
    return Kept(answered: Int(answered ?? 0), isSuperseded: changed.first == 0)
  }

  /// Puts all answers of a person in the place of those that are there.
  public func replace(
    _ answers: [KeptAnswer], of user: UUID, at now: Timestamp, in transaction: Transaction
  ) async throws(DatabaseError) {
    try await transaction.executeAll(
      ["delete from onboarding.answer where user_id = \(user)"] + answers.map { Self.upsert($0, of: user, at: now) }
        + [Self.settle(user, at: now)])
  }

  /// Recordings know since when no answer refers to them.
  private static func settle(_ user: UUID, at now: Timestamp) -> Query {
    """
    update onboarding.recording set unreferred_since = case when unreferred_since is null then \(now)::timestamptz end
    where user_id = \(user) and (unreferred_since is null) <> exists (
      select from onboarding.answer where answer.user_id = recording.user_id and answer.recording = recording.digest)
    """
  }

  /// An answer that says when it was given gives way to a later one only; one that does not is later than all.
  ///
  /// None was given after it came, whatever the device's clock says: it would be later than all that follow.
  private static func upsert(_ answer: KeptAnswer, of user: UUID, at now: Timestamp) -> Query {
    """
    insert into onboarding.answer as kept (
      user_id, step, type, value, recording, fields, answered_at, received_at, duration_seconds, audio_size, audio_format, voice_uri)
    values (
      \(user), \(Int32(answer.step)), \(answer.type), \(answer.text), \(answer.recording), \(answer.fields),
      \(answer.answeredAt.map { min($0, now) }), \(now), \(answer.duration), \(answer.size), \(answer.format), \(answer.voiceURI))
    on conflict (user_id, step) do update set type = excluded.type, value = excluded.value, recording = excluded.recording,
      fields = excluded.fields, answered_at = excluded.answered_at, received_at = excluded.received_at,
      duration_seconds = excluded.duration_seconds, audio_size = excluded.audio_size, audio_format = excluded.audio_format,
      voice_uri = excluded.voice_uri
    where coalesce(excluded.answered_at, excluded.received_at) >= least(kept.answered_at, kept.received_at)
    """
  }
}
