public import PostgreSQL
public import Values

/// Voices, and the consent to them.
public struct VoiceStore: Sendable {
  let database: Database

  /// Voices in `database`.
  public init(_ database: Database) { self.database = database }

  /// How far a voice has come.
  public enum State: String, Sendable, Hashable {
    /// There is none.
    case none
    /// It is being made.
    case cloning
    /// There is one.
    case ready
    /// It could not be made.
    case failed
    /// It is being deleted at the provider.
    case deleting
  }

  /// A person's voice.
  public struct KeptVoice: Sendable, Hashable {
    /// How far it has come.
    public var state: State
    /// Its identifier at the provider.
    public var voice: String?
    /// Why there is none, in a word.
    public var failure: String
    /// Which text the person agreed to.
    public var statement: String
    /// When the person agreed; nil when not, or no more.
    public var consentedAt: Instant?
    /// When the person agreed no more.
    public var withdrawnAt: Instant?
    /// When the person last had it made anew.
    public var reclonedAt: Instant?
    /// When the first voice of the person was made, whether it is still there or not.
    public var madeAt: Instant?
    /// How often the voice that is being made got a job again.
    public var renewals: Int

    /// Whether another voice is one that is made anew, which counts (``OnboardingDomain/CloneAllowance``): that of everybody who had one,
    /// unless one has been begun and is not there yet, or came to nothing.
    public var isAnew: Bool { madeAt != nil && state != .failed && state != .cloning }
  }

  /// A person's voice; nil where nobody said anything about one.
  public func voice(of user: UUID, on place: (any QueryRunning)? = nil) async throws(DatabaseError) -> KeptVoice? {
    let row: (String, String?, String, String, Instant?, Instant?, Instant?, Instant?, Int32)? =
      try await (place ?? database).row(
        """
        select state, voice_id, failure, statement, consented_at, withdrawn_at, recloned_at, made_at, renewals
        from onboarding.voice where user_id = \(user)
        """)
    guard let row else { return nil }
    return KeptVoice(
      state: try named(row.0), voice: row.1, failure: row.2, statement: row.3, consentedAt: row.4, withdrawnAt: row.5,
      reclonedAt: row.6, madeAt: row.7, renewals: Int(row.8))
  }

  /// Records that a person agrees. The first time that a text was agreed to stays.
  public func consent(
    to statement: String, of user: UUID, at now: Instant, in place: Transaction
  ) async throws(DatabaseError) {
    try await place.execute(
      """
      insert into onboarding.voice as kept (user_id, state, statement, consented_at, updated_at)
      values (\(user), 'none', \(statement), \(now), \(now))
      on conflict (user_id) do update set updated_at = excluded.updated_at, withdrawn_at = null,
        consented_at = case when kept.statement = excluded.statement then coalesce(kept.consented_at, excluded.consented_at)
          else excluded.consented_at end,
        statement = excluded.statement
      """)
  }

  /// Records that a person agrees no more; a voice becomes unwanted, one that is being made too.
  ///
  /// - Returns: Whether there is a voice to delete, and whether there may come to be one that has to be looked for.
  public func withdraw(
    of user: UUID, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) -> (toDelete: Bool, toFind: Bool) {
    try await transaction.execute(Self.lock(user))
    let isExpected = try await disownExpected(of: user, at: now, in: transaction)
    try await disown(of: user, at: now, in: transaction)
    try await transaction.execute(
      """
      insert into onboarding.voice (user_id, state, withdrawn_at, updated_at) values (\(user), 'none', \(now), \(now))
      on conflict (user_id) do update set consented_at = null, updated_at = excluded.updated_at,
        withdrawn_at = coalesce(voice.withdrawn_at, excluded.withdrawn_at), voice_id = null, failure = '',
        state = case when exists (select from onboarding.unwanted_voice where user_id = \(user)) or \(isExpected)
          then 'deleting' else 'none' end
      """)
    return (try await !unwanted(of: user, on: transaction).isEmpty, isExpected)
  }

  /// The voice that a person has is unwanted from now on.
  public func disown(of user: UUID, at now: Instant, in transaction: Transaction) async throws(DatabaseError) {
    try await transaction.execute(
      """
      insert into onboarding.unwanted_voice (user_id, voice_id, since)
      select user_id, voice_id, \(now) from onboarding.voice where user_id = \(user) and voice_id is not null
      on conflict do nothing
      """)
  }

  /// A voice of a person at the provider is unwanted from now on.
  public func disown(
    _ voice: String, of user: UUID, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) {
    try await transaction.execute(
      """
      insert into onboarding.unwanted_voice (user_id, voice_id, since) values (\(user), \(voice), \(now)) on conflict do nothing
      """)
  }

  /// A voice is being made, of somebody who agrees to it.
  ///
  /// It counts from its beginning: taking the consent back while it is made, and giving it again, is no way to more. Where it comes to
  /// nothing it counts no more (``failed(_:of:at:in:)``).
  ///
  /// - Parameters:
  ///   - user: Whose.
  ///   - recloning: Whether it counts as one that is made anew, where there was one before.
  ///   - now: The time.
  ///   - transaction: What it belongs to.
  public func begin(of user: UUID, recloning: Bool, at now: Instant, in transaction: Transaction) async throws(DatabaseError) {
    try await transaction.execute(
      """
      update onboarding.voice set state = 'cloning', failure = '', updated_at = \(now), renewals = 0,
        recloned_before = case when state = 'cloning' then recloned_before else recloned_at end,
        recloned_at = case when \(recloning) and made_at is not null then \(now) else recloned_at end
      where user_id = \(user) and consented_at is not null
      """)
  }

  /// A voice was made; the one before is unwanted. If the person agrees no more, the new one is.
  ///
  /// - Returns: Whether there is a voice to delete.
  public func made(_ voice: String, of user: UUID, at now: Instant, in transaction: Transaction) async throws(DatabaseError)
    -> Bool
  {
    try await transaction.executeAll([
      """
      insert into onboarding.unwanted_voice (user_id, voice_id, since)
      select user_id, case when consented_at is null then \(voice) else voice_id end, \(now) from onboarding.voice
      where user_id = \(user) and (consented_at is null or voice_id <> \(voice)) on conflict do nothing
      """,
      """
      update onboarding.voice set voice_id = \(voice), state = 'ready', failure = '', updated_at = \(now),
        made_at = coalesce(made_at, \(now))
      where user_id = \(user) and consented_at is not null
      """,
    ])
    return try await !unwanted(of: user, on: transaction).isEmpty
  }

  /// No voice is begun, though the person agrees to one.
  public func declined(_ reason: String, of user: UUID, at now: Instant, in transaction: Transaction)
    async throws(DatabaseError)
  {
    try await transaction.execute(
      """
      update onboarding.voice set failure = \(reason), updated_at = \(now)
      where user_id = \(user) and state in ('none', 'deleting') and consented_at is not null
      """)
  }

  /// A voice could not be made. One that is there stays, and the month is as it was before.
  public func failed(_ reason: String, of user: UUID, at now: Instant, in transaction: Transaction) async throws(DatabaseError) {
    try await transaction.execute(
      """
      update onboarding.voice set failure = \(reason), updated_at = \(now), recloned_at = recloned_before,
        state = case when voice_id is null then 'failed' else 'ready' end
      where user_id = \(user) and state = 'cloning' and consented_at is not null
      """)
  }

  /// The voices that are to be deleted at the provider.
  public func unwanted(of user: UUID, on place: (any QueryRunning)? = nil) async throws(DatabaseError) -> [String] {
    try await (place ?? database).rows(
      "select voice_id from onboarding.unwanted_voice where user_id = \(user) order by voice_id", as: String.self)
  }

  /// Those with voices that are to be deleted at the provider, at most so many as a sweep takes at once.
  public func peopleWithUnwanted() async throws(DatabaseError) -> [UUID] {
    try await database.rows(
      "select user_id from onboarding.unwanted_voice group by user_id order by min(since) limit \(SweepBatch.size)", as: UUID.self
    )
  }

  /// A voice is deleted at the provider.
  public func deleted(_ voice: String, of user: UUID, at now: Instant) async throws(DatabaseError) {
    try await database.batch {
      $0.add("delete from onboarding.unwanted_voice where user_id = \(user) and voice_id = \(voice)")
      $0.add(Self.rest(user, at: now))
    }
  }

  /// Nothing is being deleted where nothing is left to delete or to look for.
  static func rest(_ user: UUID, at now: Instant) -> Query {
    """
    update onboarding.voice set state = 'none', updated_at = \(now) where user_id = \(user) and state = 'deleting'
      and not exists (select from onboarding.unwanted_voice where user_id = \(user))
      and not exists (select from onboarding.expected_voice where user_id = \(user) and unwanted_since is not null)
    """
  }
}
