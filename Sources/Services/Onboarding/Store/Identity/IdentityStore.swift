public import OnboardingDomain
public import PostgreSQL
public import Values

/// What is known of people.
public struct IdentityStore: Sendable {
  let database: Database

  /// Identities in `database`.
  public init(_ database: Database) { self.database = database }

  /// What is known of a person.
  public struct KeptIdentity: Sendable, Hashable {
    /// What the person is called.
    public var name: String
    /// The person in a line.
    public var summary: String
    /// Why the newest extraction did not succeed; empty when it did.
    public var failure: String
    /// When somebody last tried to understand.
    public var extractedAt: Instant?
    /// When anything changed.
    public var updatedAt: Instant
  }

  /// A field with its time.
  public struct KeptFact: Sendable, Hashable {
    /// The field.
    public var fact: IdentityFact
    /// When it got its value.
    public var updatedAt: Instant
  }

  /// What is known of a person; nil before anything was.
  public func identity(of user: UUID, on place: (any QueryRunning)? = nil) async throws(DatabaseError) -> KeptIdentity? {
    let row: (String, String, String, Instant?, Instant)? = try await (place ?? database.reads).row(
      "select name, summary, failure, extracted_at, updated_at from onboarding.identity where user_id = \(user)")
    return row.map { KeptIdentity(name: $0.0, summary: $0.1, failure: $0.2, extractedAt: $0.3, updatedAt: $0.4) }
  }

  /// The fields, by name. A person's own word goes before what was understood.
  public func facts(of user: UUID, on place: (any QueryRunning)? = nil) async throws(DatabaseError) -> [String: KeptFact] {
    let rows: [(String, String, String, Int32, String, String, Instant)] = try await (place ?? database.reads).rows(
      """
      select name, value, 'correction', 0, '', '', updated_at from onboarding.identity_correction where user_id = \(user)
      union all
      select name, value, source, step, quote, model, updated_at from onboarding.identity_field as field
      where user_id = \(user) and not exists (
        select from onboarding.identity_correction as said where said.user_id = field.user_id and said.name = field.name)
      """)
    var facts: [String: KeptFact] = [:]
    for row in rows {
      facts[row.0] = KeptFact(
        fact: IdentityFact(row.0, row.1, try named(row.2), step: Int(row.3), quote: row.4, model: row.5), updatedAt: row.6)
    }
    return facts
  }

  /// Puts what was understood in the place of what was understood before. Corrections stay.
  ///
  /// - Parameters:
  ///   - facts: What was understood; nil to leave the fields as they are.
  ///   - name: What the person is called.
  ///   - failure: Why it did not succeed; empty when it did.
  ///   - user: Whose it is.
  ///   - now: The time.
  ///   - transaction: What it belongs to.
  public func keep(
    _ facts: [IdentityFact]?, name: String, failure: String, of user: UUID, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) {
    if let facts {
      try await transaction.executeAll([
        "delete from onboarding.identity_field where user_id = \(user)",
        """
        insert into onboarding.identity_field (user_id, name, value, source, step, quote, model, updated_at)
        select \(user), name, value, source, step, quote, model, \(now)
        from unnest(
          \(facts.map(\.name)), \(facts.map(\.value)), \(facts.map(\.source.rawValue)), \(facts.map { Int32($0.step) }),
          \(facts.map(\.quote)), \(facts.map(\.model))) as fact (name, value, source, step, quote, model)
        """,
      ])
    }
    let known = try await self.facts(of: user, on: transaction).values.map(\.fact)
    let summary = IdentityDraft.summary(of: known)
    try await transaction.execute(
      """
      insert into onboarding.identity (user_id, name, summary, failure, extracted_at, updated_at)
      values (\(user), \(name), \(summary), \(failure), \(now), \(now))
      on conflict (user_id) do update set name = excluded.name, summary = excluded.summary, failure = excluded.failure,
        extracted_at = excluded.extracted_at, updated_at = excluded.updated_at
      """)
  }

  /// Has a person understood anew, unless the newest attempt succeeded: fields that it left empty are those that nothing was said about.
  ///
  /// - Returns: Whether there is anything to understand.
  public func reopen(of user: UUID, at now: Instant, in transaction: Transaction) async throws(DatabaseError) -> Bool {
    guard let known = try await identity(of: user, on: transaction) else { return true }
    guard !known.failure.isEmpty else { return false }
    try await transaction.execute(
      "update onboarding.identity set failure = 'pending', updated_at = \(now) where user_id = \(user)")
    return true
  }

  /// Keeps a person's own word, or takes it back.
  public func correct(
    _ name: String, _ value: String?, of user: UUID, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) {
    if let value {
      try await transaction.execute(
        """
        insert into onboarding.identity_correction (user_id, name, value, updated_at)
        values (\(user), \(name), \(value), \(now))
        on conflict (user_id, name) do update set value = excluded.value, updated_at = excluded.updated_at
        """)
    } else {
      try await transaction.execute(
        "delete from onboarding.identity_correction where user_id = \(user) and name = \(name)")
    }
    let summary = IdentityDraft.summary(of: try await facts(of: user, on: transaction).values.map(\.fact))
    try await transaction.execute(
      "update onboarding.identity set summary = \(summary), updated_at = \(now) where user_id = \(user)")
  }
}
