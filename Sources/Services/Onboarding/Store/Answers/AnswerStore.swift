public import PostgreSQL
public import Values

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
    try await database.rows(Self.answers(of: user))
  }

  /// Asks the same among other things: each a ``KeptAnswer``.
  public static func answers(of user: UUID) -> Query {
    "select \(part: KeptAnswer.columns) from onboarding.answer where user_id = \(user) order by step"
  }

  /// Keeps answers, each unless a later one is there, and commits the transaction with them.
  ///
  /// - Parameters:
  ///   - kept: The answers; their recordings are there, or travel with the transaction.
  ///   - user: Whose they are.
  ///   - now: The time.
  ///   - transaction: What it belongs to.
  /// - Returns: What became of the last one.
  public func commit(
    _ kept: [KeptAnswer], of user: UUID, at now: Instant, _ transaction: Transaction
  ) async throws(DatabaseError) -> Kept {
    var (last, count): (Int?, Int) = (nil, 0)
    let results = try await transaction.commit {
      for answer in kept { last = $0.add(Self.upsert(answer, of: user, at: now)) }
      $0.add(Self.settle(user, at: now))
      count = $0.add("select count(*) from onboarding.answer where user_id = \(user)")
    }
    let answered: Int64? = try results.value(of: count)
    return Kept(answered: Int(answered ?? 0), isSuperseded: last.map { results.affectedRows[$0] == 0 } ?? false)
  }

  /// Puts all answers of a person in the place of those that are there: with the next statement of the transaction.
  public func replace(_ answers: [KeptAnswer], of user: UUID, at now: Instant, in transaction: Transaction) {
    transaction.add("delete from onboarding.answer where user_id = \(user)")
    for answer in answers { transaction.add(Self.upsert(answer, of: user, at: now)) }
    transaction.add(Self.settle(user, at: now))
  }

  /// Recordings know since when no answer refers to them.
  private static func settle(_ user: UUID, at now: Instant) -> Query {
    """
    update onboarding.recording set unreferred_since = case when unreferred_since is null then \(now)::timestamptz end
    where user_id = \(user) and (unreferred_since is null) <> exists (
      select from onboarding.answer where answer.user_id = recording.user_id and answer.recording = recording.digest)
    """
  }

  /// An answer that says when it was given gives way to a later one only; one that does not is later than all.
  ///
  /// None was given after it came, whatever the device's clock says: it would be later than all that follow.
  private static func upsert(_ answer: KeptAnswer, of user: UUID, at now: Instant) -> Query {
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
