public import PostgreSQL

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

  /// Begins an upload, or finds the one that has the name.
  public func begin(
    _ name: String, digest: [UInt8], size: Int64, mediaType: String, of user: UUID, at now: Timestamp
  ) async throws(DatabaseError) -> Upload {
    try await database.execute(
      """
      insert into onboarding.upload (user_id, upload_id, digest, size, media_type, received, stage_id, touched_at)
      values (\(user), \(name), \(digest), \(size), \(mediaType), 0, \(UUID.v7(at: now)), \(now)) on conflict do nothing
      """)
    guard let upload = try await upload(name, of: user, on: database) else {
      throw DatabaseError(.aborted, "the upload was removed while it began")
    }
    return upload
  }

  /// An upload; nil where there is none.
  public func upload(_ name: String, of user: UUID, on place: any QueryRunning) async throws(DatabaseError) -> Upload? {
    let row: ([UInt8], Int64, String, Int64, UUID, Bool)? = try await place.row(
      """
      select digest, size, media_type, received, stage_id, completed_at is not null from onboarding.upload
      where user_id = \(user) and upload_id = \(name)
      """)
    return row.map { Upload(digest: $0.0, size: $0.1, mediaType: $0.2, received: $0.3, stage: $0.4, isComplete: $0.5) }
  }

  /// Keeps the next piece of an upload, if it begins where the upload ends.
  ///
  /// - Returns: Whether it did: nobody else has added to it meanwhile.
  public func add(
    _ data: [UInt8], at start: Int64, to name: String, of user: UUID, at now: Timestamp
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

  /// All bytes are there and are what the device said.
  public func complete(_ name: String, of user: UUID, at now: Timestamp, in transaction: Transaction) async throws(DatabaseError)
  {
    try await transaction.execute(
      """
      update onboarding.upload set completed_at = \(now), touched_at = \(now)
      where user_id = \(user) and upload_id = \(name) and completed_at is null
      """)
  }

  /// Removes an upload with its bytes: what came is not what the device said, or no recording.
  public func abandon(_ name: String, of user: UUID) async throws(DatabaseError) {
    try await database.batch {
      $0.add(
        """
        delete from onboarding.staged_bytes where user_id = \(user) and stage_id in (
          select stage_id from onboarding.upload where user_id = \(user) and upload_id = \(name) and completed_at is null)
        """)
      $0.add("delete from onboarding.upload where user_id = \(user) and upload_id = \(name) and completed_at is null")
    }
  }

  /// Removes uploads that nobody has touched since `limit`: those that are complete leave their recording.
  public func sweep(before limit: Timestamp) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      with old as (
        select user_id, upload_id, stage_id, completed_at from onboarding.upload where touched_at < \(limit)
        limit \(SweepBatch.size) for update skip locked),
      emptied as (
        delete from onboarding.staged_bytes using old where old.completed_at is null
          and staged_bytes.user_id = old.user_id and staged_bytes.stage_id = old.stage_id)
      delete from onboarding.upload using old where upload.user_id = old.user_id and upload.upload_id = old.upload_id
      """)
  }
}
