public import AuthDomain
public import PostgreSQL
public import Values

extension AccountWorkStore {
  /// A piece of a document.
  public struct Piece: Sendable, Hashable {
    /// The document.
    public var document: String
    /// Its media type.
    public var contentType: String
    /// Where the piece stands in the document.
    public var offset: Int64
    /// The bytes.
    public var data: [UInt8]
    /// SHA-256 of the whole document; with its last piece.
    public var sha256: [UInt8]?

    /// A piece.
    public init(document: String, contentType: String, offset: Int64, data: [UInt8], sha256: [UInt8]?) {
      self.document = document
      self.contentType = contentType
      self.offset = offset
      self.data = data
      self.sha256 = sha256
    }
  }

  /// A piece as it is downloaded.
  public struct StoredPiece: Sendable, Hashable {
    /// Whose part it is of.
    public var step: StepName
    /// Where it stands among all bytes.
    public var start: Int64
    /// The piece.
    public var piece: Piece
  }

  /// Keeps a piece of what an attempt has got; `sequence` counts them.
  public func keep(_ piece: Piece, _ sequence: Int32, of attempt: Attempt) async throws(DatabaseError) {
    try await database.execute(
      """
      insert into auth.account_export_chunk (
        user_id, work_id, step, attempt, sequence, document, content_type, document_offset, data, sha256)
      values (
        \(UUID(attempt.user)), \(UUID(attempt.work)), \(attempt.step.rawValue), \(attempt.number), \(sequence), \(piece.document),
        \(piece.contentType), \(piece.offset), \(piece.data), \(piece.sha256))
      """)
  }

  /// How many bytes the steps that are done have brought.
  public func byteCount(of work: AccountWorkID, of user: UserID) async throws(DatabaseError) -> Int64 {
    try await database.value(
      """
      select coalesce(sum(length(chunk.data)), 0)::bigint from auth.account_export_chunk as chunk
      join auth.account_work_step as step
        on step.user_id = chunk.user_id and step.work_id = chunk.work_id and step.name = chunk.step
        and step.attempts = chunk.attempt and step.done_at is not null
      where chunk.user_id = \(UUID(user)) and chunk.work_id = \(UUID(work))
      """) ?? 0
  }

  /// An export is whole: it can be downloaded until `expiresAt`. What attempts that failed have left is removed.
  ///
  /// - Returns: Whether this call has ended it.
  @discardableResult
  public func publish(
    _ work: AccountWorkID, of user: UserID, until expiresAt: Instant, at now: Instant
  ) async throws(DatabaseError) -> Bool {
    let (user, work) = (UUID(user), UUID(work))
    return try await database.settle(within: patience) { transaction in
      let isRunning: Bool? = try await transaction.value(
        "select done_at is null from auth.account_work where user_id = \(user) and id = \(work) and kind = 'export' for update")
      guard isRunning == true else { return false }
      try await transaction.executeAll([
        """
        delete from auth.account_export_chunk as chunk using auth.account_work_step as step
        where chunk.user_id = \(user) and chunk.work_id = \(work) and step.user_id = chunk.user_id
          and step.work_id = chunk.work_id and step.name = chunk.step and step.attempts <> chunk.attempt
        """,
        """
        update auth.account_export_chunk as chunk set start = placed.start, rank = placed.rank
        from (
          select piece.step, piece.sequence, (row_number() over (order by step.place, piece.sequence) - 1)::integer as rank,
            (sum(length(piece.data)) over (order by step.place, piece.sequence) - length(piece.data))::bigint as start
          from auth.account_export_chunk as piece
          join auth.account_work_step as step
            on step.user_id = piece.user_id and step.work_id = piece.work_id and step.name = piece.step
          where piece.user_id = \(user) and piece.work_id = \(work)) as placed
        where chunk.user_id = \(user) and chunk.work_id = \(work) and chunk.step = placed.step
          and chunk.sequence = placed.sequence
        """,
        """
        update auth.account_work set done_at = \(now), expires_at = \(expiresAt), byte_count = (
          select coalesce(sum(length(data)), 0) from auth.account_export_chunk where user_id = \(user) and work_id = \(work))
        where user_id = \(user) and id = \(work)
        """,
      ])
      return true
    }
  }

  /// An export cannot be made; `word` says why. What there is of it is removed.
  ///
  /// - Returns: Whether this call has ended it.
  @discardableResult
  public func giveUp(
    _ work: AccountWorkID, of user: UserID, _ word: String, at now: Instant
  ) async throws(DatabaseError) -> Bool {
    let (user, work) = (UUID(user), UUID(work))
    return try await database.settle(within: patience) { transaction in
      let counts = try await transaction.executeAll([
        """
        update auth.account_work set done_at = \(now), failure = \(word)
        where user_id = \(user) and id = \(work) and kind = 'export' and done_at is null
        """,
        """
        delete from auth.account_export_chunk where user_id = \(user) and work_id = \(work) and exists (
          select from auth.account_work where user_id = \(user) and id = \(work) and failure <> '')
        """,
      ])
      return counts[0] == 1
    }
  }

  // MARK: Downloading

  /// The next pieces of an export.
  ///
  /// - Parameters:
  ///   - work: The export.
  ///   - user: Whose it is.
  ///   - rank: The first one, counted from 0.
  ///   - limit: The most pieces.
  public func pieces(
    of work: AccountWorkID, of user: UserID, from rank: Int32, limit: Int
  ) async throws(DatabaseError) -> [StoredPiece] {
    let rows: [(String, Int64, String, String, Int64, [UInt8], [UInt8]?)] = try await database.rows(
      """
      select step, start, document, content_type, document_offset, data, sha256 from auth.account_export_chunk
      where user_id = \(UUID(user)) and work_id = \(UUID(work)) and rank >= \(rank) order by rank limit \(Int64(limit))
      """)
    return rows.map { row in
      StoredPiece(
        step: StepName(rawValue: row.0), start: row.1,
        piece: Piece(document: row.2, contentType: row.3, offset: row.4, data: row.5, sha256: row.6))
    }
  }

  /// The rank of the piece that a byte stands in. A piece without bytes that stands there as well comes before.
  public func rank(of offset: Int64, in work: AccountWorkID, of user: UserID) async throws(DatabaseError) -> Int32 {
    try await database.value(
      """
      select coalesce(min(rank), 2147483647) from auth.account_export_chunk
      where user_id = \(UUID(user)) and work_id = \(UUID(work))
        and (start >= \(offset) or start + length(data) > \(offset))
      """) ?? .max
  }

  /// An export was handed out, or a part of it. One that was to its end is kept no longer than `limit` from now on; nil changes nothing.
  public func downloaded(
    _ work: AccountWorkID, of user: UserID, keepingUntil limit: Instant?, noting activity: Activity
  ) async throws(DatabaseError) {
    _ = try await database.settle(within: patience) { transaction in
      try await transaction.executeAll([
        """
        update auth.account_work set expires_at = least(expires_at, \(limit))
        where user_id = \(UUID(user)) and id = \(UUID(work)) and kind = 'export'
        """, ActivityStore.insert(activity),
      ])
    }
  }
}
