public import PostgreSQL
public import Values

/// Voices that may come to be. Before the provider is asked for one, a row says so; it goes with the transaction that keeps the voice.
///
/// Whoever wants no voice any more finds the row, however late the provider makes one of the call, and has it looked for by its label. Where
/// the provider was asked more than once under one label, the row stays beside the voice that is kept, and others of the label are deleted.
extension VoiceStore {
  /// What became of the wish for a voice.
  public enum Expectation: Sendable, Hashable {
    /// It may be asked for.
    case open
    /// The person has not agreed, or does so no more.
    case noConsent
    /// The person had taken back the consent while it was being made, and it may still come to be under this key until then.
    case unwanted(until: Instant)
  }

  /// A label under which voices may have come to be that nobody wants.
  public struct Expected: Sendable, Hashable {
    /// The label by which they are found.
    public var key: String
    /// Until when they may come to be.
    public var until: Instant
    /// The one of them that is wanted; nil where none is.
    public var kept: String?
  }

  /// A voice is about to be asked for.
  ///
  /// - Parameters:
  ///   - key: The label by which it is found.
  ///   - user: Whose it will be.
  ///   - until: Until when it may come to be.
  ///   - now: The time.
  ///   - transaction: One that the work on it does not survive when the person's account is deleted first.
  public func expect(
    _ key: String, of user: UUID, until: Instant, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) -> Expectation {
    // The lock keeps a consent from being taken back meanwhile: who does that comes after, and finds the row.
    let agrees: Bool? = try await transaction.value(
      "select consented_at is not null from onboarding.voice where user_id = \(user) for update")
    guard agrees == true else { return .noConsent }
    let known: (Instant, Bool)? = try await transaction.row(
      "select until, unwanted_since is not null from onboarding.expected_voice where user_id = \(user) and key = \(key) for update"
    )
    if let known, known.1 { return .unwanted(until: known.0) }
    try await transaction.execute(
      """
      insert into onboarding.expected_voice as known (user_id, key, since, until) values (\(user), \(key), \(now), \(until))
      on conflict (user_id, key) do update set until = excluded.until, attempts = known.attempts + 1
      """)
    return .open
  }

  /// A voice is there. Where the provider was asked more than once, another one may still come of an earlier call: it is looked for.
  ///
  /// - Parameters:
  ///   - key: Its label.
  ///   - kept: The voice, where it is kept.
  ///   - user: Whose it is.
  ///   - now: The time.
  ///   - transaction: What it belongs to.
  /// - Returns: Whether it is still wanted.
  public func arrived(
    _ key: String, keeping kept: String?, of user: UUID, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) -> Bool {
    try await transaction.executeAll([
      Self.lock(user),
      """
      update onboarding.expected_voice set unwanted_since = \(now), kept_voice = \(kept)
      where user_id = \(user) and key = \(key) and unwanted_since is null and attempts > 1
      """,
      """
      delete from onboarding.expected_voice
      where user_id = \(user) and key = \(key) and unwanted_since is null and attempts = 1
      """,
    ]).dropFirst().contains(1)
  }

  /// The provider has surely made nothing of the call, which says nothing of others under the same label.
  public func expectNoMore(_ key: String, of user: UUID) async throws(DatabaseError) {
    try await database.execute(
      """
      delete from onboarding.expected_voice
      where user_id = \(user) and key = \(key) and unwanted_since is null and attempts = 1
      """)
  }

  /// A voice came that is not wanted any more.
  ///
  /// - Returns: Whether the person agrees to another one meanwhile.
  public func refuse(
    _ voice: String, of user: UUID, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) -> Bool {
    try await disown(voice, of: user, at: now, in: transaction)
    try await transaction.execute(
      "update onboarding.voice set made_at = coalesce(made_at, \(now)) where user_id = \(user)")
    return try await transaction.value("select consented_at is not null from onboarding.voice where user_id = \(user)") ?? false
  }

  /// Whatever voices of a person may come to be are unwanted from now on, and those that were kept beside them.
  ///
  /// - Parameters:
  ///   - user: Whose.
  ///   - key: The label of what is wanted all the same; nil for none.
  ///   - now: The time.
  ///   - transaction: What it belongs to.
  /// - Returns: Whether there is any to look for, under that label too.
  public func disownExpected(
    of user: UUID, but key: String? = nil, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) -> Bool {
    try await transaction.execute(
      """
      update onboarding.expected_voice set unwanted_since = coalesce(unwanted_since, \(now)), kept_voice = null
      where user_id = \(user) and key is distinct from \(key)::text
      """)
    return try await !unwantedExpected(of: user, on: transaction).isEmpty
  }

  /// What may come to be under a label is unwanted from now on: nobody asks for it again.
  ///
  /// - Returns: Whether there is anything to look for.
  public func disownExpected(
    _ key: String, of user: UUID, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) -> Bool {
    try await transaction.execute(
      """
      update onboarding.expected_voice set unwanted_since = coalesce(unwanted_since, \(now)), kept_voice = null
      where user_id = \(user) and key = \(key)
      """) > 0
  }

  /// What is to be looked for at the provider.
  public func unwantedExpected(of user: UUID, on place: (any QueryRunning)? = nil) async throws(DatabaseError) -> [Expected] {
    let rows: [(String, Instant, String?)] = try await (place ?? database).rows(
      """
      select key, until, kept_voice from onboarding.expected_voice where user_id = \(user) and unwanted_since is not null
      order by until
      """)
    return rows.map { Expected(key: $0.0, until: $0.1, kept: $0.2) }
  }

  /// Those with voices that are to be looked for at the provider, at most so many as a sweep takes at once.
  public func peopleWithUnwantedExpected() async throws(DatabaseError) -> [UUID] {
    try await database.rows(
      """
      select user_id from onboarding.expected_voice where unwanted_since is not null group by user_id
      order by min(unwanted_since) limit \(SweepBatch.size)
      """, as: UUID.self)
  }

  /// Nothing can come of the calls any more, and nothing unwanted is there.
  public func looked(for key: String, of user: UUID, at now: Instant) async throws(DatabaseError) {
    try await database.batch {
      $0.add(Self.lock(user))
      $0.add(
        "delete from onboarding.expected_voice where user_id = \(user) and key = \(key) and unwanted_since is not null")
      $0.add(Self.rest(user, at: now))
    }
  }

  /// Lets nobody else change a person's voice, or what is unwanted of it, until the transaction ends.
  public func lock(_ user: UUID, in transaction: Transaction) async throws(DatabaseError) {
    try await transaction.execute(Self.lock(user))
  }

  /// Whoever changes both takes the voice first, and then what is expected.
  static func lock(_ user: UUID) -> Query { "select from onboarding.voice where user_id = \(user) for update" }
}
