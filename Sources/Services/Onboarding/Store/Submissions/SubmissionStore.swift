public import OnboardingDomain
public import PostgreSQL
public import Values

/// Submissions, and the course of the work on them.
public struct SubmissionStore: Sendable {
  let database: Database
  private let turns = PersonTurns()

  /// Submissions in `database`.
  public init(_ database: Database) { self.database = database }

  /// The channel on which changes are told: the text is the submission's identifier.
  public static let channel = "onboarding_submission"

  // MARK: Reading

  /// The newest submission of a person; nil where there is none.
  public func newest(of user: UUID, on place: any QueryRunning) async throws(DatabaseError) -> KeptSubmission? {
    try await place.row(Self.newest(of: user))
  }

  /// Asks for the newest submission of a person among other things: a ``KeptSubmission``, or no row.
  public static func newest(of user: UUID) -> Query {
    "select \(part: KeptSubmission.columns) from onboarding.submission where user_id = \(user) order by number desc limit 1"
  }

  /// Asks for the submission that came under a key among other things: a ``KeptSubmission``, or no row.
  public static func submission(key: String, of user: UUID) -> Query {
    "select \(part: KeptSubmission.columns) from onboarding.submission where user_id = \(user) and idempotency_key = \(key)"
  }

  /// The newest submission of a person; nil where there is none.
  public func newest(of user: UUID) async throws(DatabaseError) -> KeptSubmission? {
    try await newest(of: user, on: database.reads)
  }

  /// A submission of a person; nil where there is none.
  public func submission(
    _ id: UUID, of user: UUID, on place: (any QueryRunning)? = nil
  ) async throws(DatabaseError) -> KeptSubmission? {
    try await (place ?? database.reads).row(
      "select \(part: KeptSubmission.columns) from onboarding.submission where user_id = \(user) and id = \(id)")
  }

  /// What did not go well, in the order of the steps.
  public func warnings(of id: UUID, _ user: UUID) async throws(DatabaseError) -> [SubmissionWarning] {
    let rows: [(Int32, String, String)] = try await database.reads.rows(
      """
      select step, reason, message from onboarding.submission_warning where user_id = \(user) and submission_id = \(id)
      order by step, reason
      """)
    return rows.map { SubmissionWarning(step: Int($0.0), $0.1, $0.2) }
  }

  /// The newest event.
  public func lastEvent(of id: UUID, _ user: UUID) async throws(DatabaseError) -> SubmissionEvent? {
    try await events(
      """
      select \(part: Self.event) from onboarding.submission_event as event
      where user_id = \(user) and submission_id = \(id) order by sequence desc limit 1
      """
    ).first
  }

  /// What there is to tell of a submission behind a place.
  public struct News: Sendable, Hashable {
    /// The events, in their order.
    public var events: [SubmissionEvent]
    /// Whether the work on it has ended.
    public var isDone: Bool
  }

  /// What there is to tell of a submission behind a place, as of one moment; nil where there is no such submission.
  ///
  /// - Parameters:
  ///   - id: The submission.
  ///   - user: Whose it is.
  ///   - sequence: The last event that is known.
  ///   - limit: How many events at most.
  public func news(
    of id: UUID, _ user: UUID, after sequence: Int64, limit: Int
  ) async throws(DatabaseError) -> News? {
    let rows: [NewsRow] = try await database.reads.rows(
      """
      select submission.done_at is not null, told.* from onboarding.submission left join lateral (
        select \(part: Self.event) from onboarding.submission_event as event
        where event.user_id = \(user) and event.submission_id = \(id) and event.sequence > \(sequence)
        order by event.sequence limit \(Int64(limit))) as told on true
      where submission.user_id = \(user) and submission.id = \(id) order by told.sequence
      """)
    return rows.first.map { News(events: rows.compactMap(\.event), isDone: $0.isDone) }
  }

  /// A row of ``news(of:_:after:limit:)``: without an event where there is none.
  private struct NewsRow: RowDecodable {
    let isDone: Bool
    let event: SubmissionEvent?

    init(_ row: Row) throws(DatabaseError) {
      let sequence: Int64?
      (isDone, sequence) = try (row.decode(at: 0), row.decode(at: 1))
      event = sequence == nil ? nil : try SubmissionEvent(row, from: 1)
    }
  }

  /// The columns of an event.
  static var event: Query {
    """
    sequence, stage, done, total, step, at, case when stage = 'failed' then (
      select before.stage from onboarding.submission_event as before
      where before.user_id = event.user_id and before.submission_id = event.submission_id and before.sequence < event.sequence
      order by before.sequence desc limit 1) end
    """
  }

  private func events(_ query: Query) async throws(DatabaseError) -> [SubmissionEvent] {
    try await database.reads.rows(query)
  }

  /// The newest event of each of some submissions: 0 where there is none, as of one that is gone.
  ///
  /// - Parameter watched: The submissions, each with whose it is.
  public func newestEvents(of watched: [UUID: UUID]) async throws(DatabaseError) -> [UUID: Int64] {
    let (ids, users) = (Array(watched.keys), Array(watched.values))
    let rows: [(UUID, Int64)] = try await database.reads.rows(
      """
      select watched.id, coalesce((
        select max(sequence) from onboarding.submission_event as event
        where event.user_id = watched.user_id and event.submission_id = watched.id), 0)
      from unnest(\(ids), \(users)) as watched(id, user_id)
      """)
    return Dictionary(rows, uniquingKeysWith: { first, _ in first })
  }

  /// Submissions on which work has not ended, the oldest first.
  ///
  /// - Parameters:
  ///   - place: The last one before these; nil for the beginning.
  ///   - limit: How many.
  public func running(after place: KeptSubmission?, limit: Int) async throws(DatabaseError) -> [KeptSubmission] {
    let (moment, id) = (place?.createdAt ?? Instant(microseconds: 0), place?.id ?? UUID(high: 0, low: 0))
    return try await database.rows(
      """
      select \(part: KeptSubmission.columns) from onboarding.submission
      where done_at is null and (created_at, id) > (\(moment), \(id)) order by created_at, id limit \(Int64(limit))
      """)
  }

  // MARK: Writing

  /// Lets nobody else submit for a person until the transaction ends.
  public func lock(_ user: UUID, in transaction: Transaction) async throws(DatabaseError) {
    try await transaction.execute(Self.lock(user))
  }

  /// As ``lock(_:in:)``, as the statement that does it.
  public static func lock(_ user: UUID) -> Query { "select pg_advisory_xact_lock(\(part: lockKey(user)))" }

  /// Does something in a transaction that has the person's lock, unless it cannot be had soon.
  ///
  /// Within the process one after the other, so that a person whose lock is taken holds one connection up, and that not for long.
  ///
  /// - Parameters:
  ///   - user: Whose lock.
  ///   - longest: How long to wait for those who are before it in this process, 10 s at most.
  ///   - body: What is done.
  /// - Throws: ``PersonIsBusy``, the database's error, and what `body` throws.
  public func locked<Value>(
    _ user: UUID, atMost longest: Duration = .seconds(10), _ body: (Transaction) async throws -> Value
  ) async throws -> Value {
    try await locked(user, atMost: longest, asking: { _ in }) { transaction, _, _ in try await body(transaction) }
  }

  /// As ``locked(_:atMost:_:)``, with what has to be known first: it is asked behind the lock, in the same round trip.
  ///
  /// - Parameters:
  ///   - user: Whose lock.
  ///   - longest: How long to wait for those who are before it in this process, 10 s at most.
  ///   - questions: Adds statements, and returns their numbers.
  ///   - body: Gets the numbers, and what the statements answered.
  public func locked<Asked, Value>(
    _ user: UUID, atMost longest: Duration = .seconds(10), asking questions: (inout Batch) -> Asked,
    _ body: (Transaction, Asked, BatchResults) async throws -> Value
  ) async throws -> Value {
    try await turns.taking(user, atMost: longest) {
      try await database.transaction { transaction in
        var asked: Asked?
        let answers: BatchResults
        do throws(DatabaseError) {
          answers = try await transaction.batch {
            // Shorter than others wait for a connection (`poolWait`).
            $0.add("set local lock_timeout = '1s'")
            $0.add("select pg_advisory_xact_lock(\(part: Self.lockKey(user)))")
            $0.add("set local lock_timeout to default")
            asked = questions(&$0)
          }
        } catch {
          guard error.sqlState == .lockNotAvailable else { throw error }
          throw PersonIsBusy()
        }
        guard let asked else { throw DatabaseError(.misuse, "nothing was asked") }
        return try await body(transaction, asked, answers)
      }
    }
  }

  /// As ``lock(_:in:)``, unless somebody else has the lock.
  ///
  /// - Returns: Whether nobody else had.
  public func tryLock(_ user: UUID, in transaction: Transaction) async throws(DatabaseError) -> Bool {
    try await transaction.value("select pg_try_advisory_xact_lock(\(part: Self.lockKey(user)))") ?? false
  }

  private static func lockKey(_ user: UUID) -> Query { "hashtextextended('onboarding ' || \(user)::uuid::text, 0)" }

  /// What is submitted.
  public struct NewSubmission: Sendable {
    /// Its identifier.
    public var id: UUID
    /// SHA-256 of what was submitted.
    public var contentHash: [UInt8]
    /// What makes it the same request; nil where the caller named nothing.
    public var key: String?
    /// What the answers say of the person.
    public var facts: PersonFacts
    /// How many answers came.
    public var answers: Int
    /// How many recordings were among them.
    public var recordings: Int
    /// What the device is, as JSON; nil where the caller did not say.
    public var device: String?

    /// A submission.
    public init(
      id: UUID, contentHash: [UInt8], key: String?, facts: PersonFacts, answers: Int, recordings: Int, device: String?
    ) {
      self.id = id
      self.contentHash = contentHash
      self.key = key
      self.facts = facts
      self.answers = answers
      self.recordings = recordings
      self.device = device
    }
  }

  /// Keeps a submission, with its first event: with the next statement of the transaction.
  public func add(
    _ new: NewSubmission, of user: UUID, _ warnings: [SubmissionWarning], at now: Instant, in transaction: Transaction
  ) {
    transaction.add(
      """
      insert into onboarding.submission (
        user_id, id, number, content_hash, idempotency_key, stage, name, zone, call_start, call_minutes, answers, recordings, device,
        created_at, updated_at)
      values (
        \(user), \(new.id), (select coalesce(max(number), 0) + 1 from onboarding.submission where user_id = \(user)),
        \(new.contentHash), \(new.key), 'received', \(new.facts.name), \(new.facts.zone),
        \(new.facts.window.map { Int32($0.start) }), \(new.facts.window.map { Int32($0.minutes) }), \(Int32(new.answers)),
        \(Int32(new.recordings)), \(new.device)::text::jsonb, \(now), \(now))
      """)
    transaction.add(
      """
      update onboarding.submission set superseded_at = \(now)
      where user_id = \(user) and id <> \(new.id) and superseded_at is null
      """)
    if !warnings.isEmpty { transaction.add(Self.warn(warnings, new.id, user)) }
    transaction.add(Self.event(.received, done: new.answers, of: new.answers, in: new.id, of: user, at: now))
  }

  /// Notes an event, and tells who watches.
  public func note(
    _ stage: SubmissionStage, done: Int, of total: Int, step: Int = 0, in id: UUID, of user: UUID, at now: Instant,
    _ transaction: Transaction
  ) async throws(DatabaseError) {
    try await transaction.execute(Self.event(stage, done: done, of: total, step: step, in: id, of: user, at: now))
  }

  /// An event, as one statement that tells who watches of it. Whoever runs it holds the submission's job.
  public static func event(
    _ stage: SubmissionStage, done: Int, of total: Int, step: Int = 0, in id: UUID, of user: UUID, at now: Instant
  ) -> Query {
    """
    with noted as (
      insert into onboarding.submission_event (user_id, submission_id, sequence, stage, done, total, step, at)
      select \(user), \(id), coalesce(max(sequence), 0) + 1, \(stage.rawValue), \(Int32(done)), \(Int32(total)), \(Int32(step)), \(now)
      from onboarding.submission_event where user_id = \(user) and submission_id = \(id)),
    moved as (
      update onboarding.submission set stage = \(stage.rawValue), updated_at = \(now),
        done_at = case when \(stage.isLast) then coalesce(done_at, \(now)) end
      where user_id = \(user) and id = \(id))
    select pg_notify(\(Self.channel), \(id)::uuid::text)
    """
  }

  /// Notes what did not go well.
  public func warn(
    _ warning: SubmissionWarning, in id: UUID, of user: UUID, _ transaction: Transaction
  ) async throws(DatabaseError) {
    try await warn([warning], in: id, of: user, transaction)
  }

  /// Notes all that did not go well, each kind once for each step.
  public func warn(
    _ warnings: [SubmissionWarning], in id: UUID, of user: UUID, _ transaction: Transaction
  ) async throws(DatabaseError) {
    try await transaction.execute(Self.warn(warnings, id, user))
  }

  /// Forgets what went well after all.
  public func settle(_ reason: String, step: Int, in id: UUID, of user: UUID, _ transaction: Transaction)
    async throws(DatabaseError)
  {
    try await transaction.execute(
      """
      delete from onboarding.submission_warning
      where user_id = \(user) and submission_id = \(id) and step = \(Int32(step)) and reason = \(reason)
      """)
  }

  /// Notes that what failed is tried again.
  public func setRound(_ round: Int, of id: UUID, _ user: UUID, in transaction: Transaction) async throws(DatabaseError) {
    try await transaction.execute(
      "update onboarding.submission set retry_round = \(Int32(round)) where user_id = \(user) and id = \(id)")
  }

  /// Notes until when what failed is not tried again by itself; the latest of all such times counts.
  public func rest(_ id: UUID, of user: UUID, until: Instant, in transaction: Transaction) async throws(DatabaseError) {
    try await transaction.execute(
      """
      update onboarding.submission set rests_until = greatest(rests_until, \(until)) where user_id = \(user) and id = \(id)
      """)
  }

  /// Notes that a submission got a job again.
  public func renewed(_ id: UUID, of user: UUID, at now: Instant, in transaction: Transaction) async throws(DatabaseError) {
    try await transaction.execute(
      "update onboarding.submission set renewals = renewals + 1, renewed_at = \(now) where user_id = \(user) and id = \(id)")
  }

  /// Gives a submission up on which work has not ended. The same answers may come again, and under the same key.
  ///
  /// - Returns: Whether work had not ended.
  public func giveUp(_ id: UUID, of user: UUID, at now: Instant, in transaction: Transaction) async throws(DatabaseError)
    -> Bool
  {
    let given = try await transaction.execute(
      "update onboarding.submission set idempotency_key = null where user_id = \(user) and id = \(id) and done_at is null")
    guard given == 1 else { return false }
    try await warn(
      SubmissionWarning("given_up", "the work on the answers was given up; they are kept, and may be sent again"), in: id,
      of: user,
      transaction)
    try await note(.failed, done: 0, of: 0, in: id, of: user, at: now, transaction)
    return true
  }

  private static func warn(_ warnings: [SubmissionWarning], _ id: UUID, _ user: UUID) -> Query {
    """
    insert into onboarding.submission_warning (user_id, submission_id, step, reason, message)
    select distinct on (step, reason) \(user)::uuid, \(id)::uuid, step, reason, message
    from unnest(\(warnings.map { Int32($0.step) }), \(warnings.map(\.reason)), \(warnings.map(\.message)))
      with ordinality as warning (step, reason, message, place)
    order by step, reason, place desc
    on conflict (user_id, submission_id, step, reason) do update set message = excluded.message
    """
  }
}
