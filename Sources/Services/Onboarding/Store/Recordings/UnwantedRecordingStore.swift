public import PostgreSQL
public import Values

/// Recordings that no answer refers to any more, until nothing is left of them.
///
/// A recording goes in two steps, each under its person's lock (``SubmissionStore/tryLock(_:in:)``): its row and its staged bytes become a
/// note here, in one transaction; then the object store is asked, and the note goes. Content that comes again meanwhile takes the note away
/// with it (``RecordingStore/add(_:size:format:mediaType:stage:of:at:in:)``), so that a note never costs anybody a recording.
public struct UnwantedRecordingStore: Sendable {
  let database: Database

  /// Recordings in `database`.
  public init(_ database: Database) { self.database = database }

  /// A recording that is to be deleted in the object store.
  public struct Unwanted: Sendable, Hashable {
    /// Whose it was.
    public var user: UUID
    /// SHA-256 of its bytes.
    public var digest: [UInt8]
  }

  // MARK: Rows

  /// People with recordings that no answer has referred to since `limit`, those who have waited longest first.
  public func people(before limit: Instant) async throws(DatabaseError) -> [UUID] {
    try await database.rows(
      """
      select user_id from onboarding.recording where \(part: Self.isOver(limit)) group by user_id
      order by min(unreferred_since) limit \(SweepBatch.size)
      """, as: UUID.self)
  }

  /// Makes notes of the recordings of a person that no answer has referred to since `limit`: what is left is in the object store.
  ///
  /// At once no more than a statement can be done with in time, by rows and by bytes; to be called until nothing is left.
  ///
  /// - Parameters:
  ///   - user: Whose; the transaction has the person's lock.
  ///   - limit: The last moment that counts as over.
  ///   - now: The time.
  ///   - transaction: What it belongs to.
  /// - Returns: How many, at most ``PostgreSQL/SweepBatch/size``.
  public func note(
    of user: UUID, before limit: Instant, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) -> Int {
    try await transaction.execute(
      """
      with gone as (
        delete from onboarding.recording where user_id = \(user) and digest in (
          select digest from (
            select digest, sum(case when stage_id is null then 0 else size end) over (order by digest) as bytes
            from onboarding.recording where user_id = \(user) and \(part: Self.isOver(limit))) as over
          where bytes <= \(Self.bytes) order by digest limit \(SweepBatch.size))
        returning digest, stage_id),
      emptied as (
        delete from onboarding.staged_bytes using gone
        where staged_bytes.user_id = \(user) and staged_bytes.stage_id = gone.stage_id)
      insert into onboarding.unwanted_recording as known (user_id, digest, since, due_at)
      select \(user), digest, \(now), \(now) from gone
      on conflict (user_id, digest) do update set due_at = excluded.due_at
      """)
  }

  /// How many staged bytes go at once: more than the largest recording has.
  private static let bytes: Int64 = 64 << 20

  /// Nobody refers to it, comes with it, or works on what it may belong to.
  private static func isOver(_ limit: Instant) -> Query {
    """
    unreferred_since <= \(limit)
      and not exists (
        select from onboarding.answer where answer.user_id = recording.user_id and answer.recording = recording.digest)
      and not exists (
        select from onboarding.upload where upload.user_id = recording.user_id and upload.digest = recording.digest)
      and not exists (
        select from onboarding.submission where submission.user_id = recording.user_id and submission.done_at is null)
      and not exists (
        select from onboarding.voice where voice.user_id = recording.user_id and voice.state = 'cloning')
    """
  }

  // MARK: The object store

  /// Notes whose time has come.
  public func due(at now: Instant) async throws(DatabaseError) -> [Unwanted] {
    let rows: [(UUID, [UInt8])] = try await database.rows(
      "select user_id, digest from onboarding.unwanted_recording where due_at <= \(now) order by due_at limit \(SweepBatch.size)")
    return rows.map { Unwanted(user: $0.0, digest: $0.1) }
  }

  /// Whether a note is still there. The transaction has the person's lock.
  public func isWaiting(_ unwanted: Unwanted, in transaction: Transaction) async throws(DatabaseError) -> Bool {
    try await transaction.value(
      """
      select exists (
        select from onboarding.unwanted_recording where user_id = \(unwanted.user) and digest = \(unwanted.digest))
      """) ?? false
  }

  /// The object store has it no more.
  public func removed(_ unwanted: Unwanted, in transaction: Transaction) async throws(DatabaseError) {
    try await transaction.execute(
      "delete from onboarding.unwanted_recording where user_id = \(unwanted.user) and digest = \(unwanted.digest)")
  }

  /// The object store could not be asked: others go first.
  public func postpone(_ unwanted: Unwanted, until moment: Instant) async throws(DatabaseError) {
    try await database.execute(
      """
      update onboarding.unwanted_recording set due_at = \(moment)
      where user_id = \(unwanted.user) and digest = \(unwanted.digest)
      """)
  }
}
