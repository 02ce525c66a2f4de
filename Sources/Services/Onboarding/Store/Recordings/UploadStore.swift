public import PostgreSQL
public import Values

/// Recordings that come in pieces, and go on where they broke off.
public struct UploadStore: Sendable {
  let database: Database

  /// Uploads in `database`.
  public init(_ database: Database) { self.database = database }

  /// An upload.
  public struct Upload: Sendable, Hashable {
    /// SHA-256 of all bytes, as the device said.
    public var digest: [UInt8]
    /// How many bytes it has in all.
    public var size: Int64
    /// Its media type, as the device said.
    public var mediaType: String
    /// How many bytes are durable.
    public var received: Int64
    /// Where they are.
    public var stage: UUID
    /// Whether it is complete.
    public var isComplete: Bool
  }

  /// Begins an upload, or finds the one that has the name. The transaction has the person's lock (``SubmissionStore/locked(_:_:)``).
  public func begin(
    _ name: String, digest: [UInt8], size: Int64, mediaType: String, of user: UUID, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) -> Upload {
    try await transaction.executeAll([
      "delete from onboarding.upload where user_id = \(user) and upload_id = \(name) and not \(part: Self.counts)",
      """
      insert into onboarding.upload (user_id, upload_id, digest, size, media_type, received, stage_id, touched_at)
      values (\(user), \(name), \(digest), \(size), \(mediaType), 0, \(UUID.v7(at: now)), \(now)) on conflict do nothing
      """,
    ])
    guard let upload = try await upload(name, of: user, on: transaction) else {
      throw DatabaseError(.aborted, "the upload was removed while it began")
    }
    return upload
  }

  /// An upload; nil where there is none, or what it brought is lost.
  public func upload(_ name: String, of user: UUID, on place: any QueryRunning) async throws(DatabaseError) -> Upload? {
    try await upload(name, of: user, on: place, "")
  }

  /// As ``upload(_:of:on:)``; nobody else adds to it, ends it or removes it until the transaction ends.
  public func hold(_ name: String, of user: UUID, in transaction: Transaction) async throws(DatabaseError) -> Upload? {
    try await upload(name, of: user, on: transaction, " for update")
  }

  private func upload(
    _ name: String, of user: UUID, on place: any QueryRunning, _ lock: Query
  ) async throws(DatabaseError) -> Upload? {
    let row: ([UInt8], Int64, String, Int64, UUID, Bool)? = try await place.row(
      """
      select digest, size, media_type, received, stage_id, completed_at is not null from onboarding.upload
      where user_id = \(user) and upload_id = \(name) and \(part: Self.counts)\(part: lock)
      """)
    return row.map { Upload(digest: $0.0, size: $0.1, mediaType: $0.2, received: $0.3, stage: $0.4, isComplete: $0.5) }
  }

  /// One that is complete says nothing any more once its recording is gone: the same bytes have to come again.
  private static var counts: Query {
    """
    (completed_at is null or exists (
      select from onboarding.recording where recording.user_id = upload.user_id and recording.digest = upload.digest
        and recording.reason <> \(RecordingStore.lost)))
    """
  }

  /// What a person has on the way.
  public struct Open: Sendable, Hashable, RowDecodable {
    /// How many uploads are known.
    public var uploads: Int
    /// How many of them are under way.
    public var open: Int
    /// How many bytes those have in all, as announced.
    public var bytes: Int64

    /// Reads what ``UploadStore/open(of:)`` answers.
    public init(_ row: Row) throws(DatabaseError) {
      let (uploads, open, bytes) = try row.decode(as: (Int64, Int64, Int64).self)
      (self.uploads, self.open, self.bytes) = (Int(uploads), Int(open), bytes)
    }
  }

  /// Asks among other things what a person has on the way: an ``Open``.
  public static func open(of user: UUID) -> Query {
    """
    select count(*), count(*) filter (where completed_at is null), coalesce(sum(size) filter (where completed_at is null), 0)::bigint
    from onboarding.upload where user_id = \(user)
    """
  }

  /// Keeps the next piece of an upload, if it begins where the upload ends.
  ///
  /// - Returns: Whether it did: nobody else has added to it meanwhile.
  public func add(
    _ data: [UInt8], at start: Int64, to name: String, of user: UUID, at now: Instant
  ) async throws(DatabaseError) -> Bool {
    // One statement: a piece that comes twice, or by two streams, is added once.
    let added = try await database.execute(
      """
      with moved as (
        update onboarding.upload set received = received + \(Int64(data.count)), touched_at = \(now)
        where user_id = \(user) and upload_id = \(name) and received = \(start) and completed_at is null
          and received + \(Int64(data.count)) <= size
        returning stage_id)
      insert into onboarding.staged_bytes (user_id, stage_id, start, data)
      select \(user), stage_id, \(start), \(data) from moved
      """)
    return added == 1
  }

  /// All bytes are there and are what the device said. The transaction holds the upload (``hold(_:of:in:)``).
  public func complete(_ name: String, of user: UUID, at now: Instant, in transaction: Transaction) async throws(DatabaseError) {
    let ended = try await transaction.execute(
      """
      update onboarding.upload set completed_at = \(now), touched_at = \(now)
      where user_id = \(user) and upload_id = \(name) and completed_at is null
      """)
    guard ended == 1 else { throw DatabaseError(.aborted, "the upload was ended or removed meanwhile") }
  }

  /// Removes an upload with its bytes: what came is not what the device said, or no recording.
  ///
  /// It stays where it is not as it was any more: another stream has added to it, or ended it.
  public func abandon(_ name: String, _ upload: Upload, of user: UUID) async throws(DatabaseError) {
    // The row first: whoever adds bytes has to change it, and would add them behind the back of a statement that began before.
    try await database.execute(
      """
      with gone as (
        delete from onboarding.upload where user_id = \(user) and upload_id = \(name) and stage_id = \(upload.stage)
          and received = \(upload.received) and completed_at is null
        returning user_id, stage_id)
      delete from onboarding.staged_bytes using gone
      where staged_bytes.user_id = gone.user_id and staged_bytes.stage_id = gone.stage_id
      """)
  }

  /// How many uploads that broke off are removed at once: their bytes go with them, up to 10 MiB of each.
  private static let broken: Int64 = 6

  /// Removes uploads that nobody has touched since `limit`: those that are complete leave their recording.
  public func sweep(before limit: Instant) async throws(DatabaseError) -> Int {
    let complete = try await database.sweep(
      """
      with old as (
        select user_id, upload_id from onboarding.upload where touched_at < \(limit) and completed_at is not null
        limit \(SweepBatch.size) for update skip locked)
      delete from onboarding.upload using old where upload.user_id = old.user_id and upload.upload_id = old.upload_id
      """)
    let broken = try await database.sweep(
      """
      with old as (
        select user_id, upload_id, stage_id from onboarding.upload where touched_at < \(limit) and completed_at is null
        limit \(Self.broken) for update skip locked),
      emptied as (
        delete from onboarding.staged_bytes using old
        where staged_bytes.user_id = old.user_id and staged_bytes.stage_id = old.stage_id)
      delete from onboarding.upload using old where upload.user_id = old.user_id and upload.upload_id = old.upload_id
      """, batch: Self.broken)
    return complete + broken
  }
}
