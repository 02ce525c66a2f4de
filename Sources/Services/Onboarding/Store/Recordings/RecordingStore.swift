public import OnboardingDomain
public import PostgreSQL
public import Values

/// What people have said, and the bytes of it until the object store has them.
public struct RecordingStore: Sendable {
  let database: Database

  /// Why a recording cannot be written down whose bytes the object store has no more, as ``KeptRecording/reason`` has it.
  public static let lost = "audio_lost"

  /// Recordings in `database`.
  public init(_ database: Database) { self.database = database }

  /// The recordings that are answers of a person, each once, in the order of the steps.
  public func recordings(of user: UUID, on place: (any QueryRunning)? = nil) async throws(DatabaseError) -> [KeptRecording] {
    try await (place ?? database).rows(
      """
      select \(part: KeptRecording.columns) from onboarding.recording as recording
      where recording.user_id = \(user) and exists (
        select from onboarding.answer where answer.user_id = \(user) and answer.recording = recording.digest)
      order by step, recording.digest
      """)
  }

  /// How many recordings are answers of a person and have words.
  public func spoken(of user: UUID) async throws(DatabaseError) -> Int {
    let count: Int64? = try await database.reads.value(
      """
      select count(*) from onboarding.recording where user_id = \(user) and transcript <> ''
        and digest in (select recording from onboarding.answer where user_id = \(user) and recording is not null)
      """)
    return Int(count ?? 0)
  }

  /// How many recordings are answers of a person, and how far they have come.
  public struct Progress: Sendable, Hashable {
    /// How many there are.
    public var total: Int
    /// How many the object store has.
    public var stored: Int
    /// How many have been written down, or could not be.
    public var written: Int
  }

  /// How far a person's recordings have come, each counted once.
  public func progress(of user: UUID, on place: any QueryRunning) async throws(DatabaseError) -> Progress {
    let row: (Int64, Int64, Int64)? = try await place.row(
      """
      select count(*), count(stored_at), count(*) filter (where state <> 'pending') from onboarding.recording
      where user_id = \(user)
        and digest in (select recording from onboarding.answer where user_id = \(user) and recording is not null)
      """)
    return Progress(total: Int(row?.0 ?? 0), stored: Int(row?.1 ?? 0), written: Int(row?.2 ?? 0))
  }

  /// Everything that is kept of what a person said, whether it is an answer or not.
  public func all(of user: UUID) async throws(DatabaseError) -> [KeptRecording] {
    try await database.rows(
      """
      select \(part: KeptRecording.columns) from onboarding.recording as recording where recording.user_id = \(user)
      order by recording.digest
      """)
  }

  /// One recording; nil where there is none.
  public func recording(_ digest: [UInt8], of user: UUID, on place: any QueryRunning) async throws(DatabaseError)
    -> KeptRecording?
  {
    try await place.row(
      """
      select \(part: KeptRecording.columns) from onboarding.recording as recording
      where recording.user_id = \(user) and recording.digest = \(digest)
      """)
  }

  // MARK: Bytes

  /// Keeps a piece of what was said.
  public func stage(
    _ data: [UInt8], at start: Int64, in stage: UUID, of user: UUID, _ transaction: Transaction
  ) async throws(DatabaseError) {
    try await transaction.execute(
      """
      insert into onboarding.staged_bytes (user_id, stage_id, start, data) values (\(user), \(stage), \(start), \(data))
      on conflict do nothing
      """)
  }

  /// Keeps pieces of what was said, together with the next statement of the transaction.
  ///
  /// - Parameters:
  ///   - pieces: Where each belongs, and its bytes, at most a few MiB of all.
  ///   - user: Whose.
  ///   - transaction: What it belongs to.
  public func stage(_ pieces: [StagedPiece], of user: UUID, _ transaction: Transaction) {
    guard !pieces.isEmpty else { return }
    transaction.add(
      """
      insert into onboarding.staged_bytes (user_id, stage_id, start, data)
      select \(user), stage_id, start, data
      from unnest(\(pieces.map(\.stage)), \(pieces.map(\.start)), \(pieces.map(\.data))) as piece (stage_id, start, data)
      on conflict do nothing
      """)
  }

  /// The piece of a recording that begins at a place; nil behind the last one.
  public func piece(at start: Int64, in stage: UUID, of user: UUID) async throws(DatabaseError) -> [UInt8]? {
    try await database.value(
      "select data from onboarding.staged_bytes where user_id = \(user) and stage_id = \(stage) and start = \(start)")
  }

  /// The first pieces of recordings, by where those are: all of what has no more than one.
  public func firstPieces(in stages: [UUID], of user: UUID) async throws(DatabaseError) -> [UUID: [UInt8]] {
    let rows: [(UUID, [UInt8])] = try await database.rows(
      """
      select stage_id, data from onboarding.staged_bytes
      where user_id = \(user) and stage_id = any(\(stages)) and start = 0
      """)
    return Dictionary(rows, uniquingKeysWith: { first, _ in first })
  }

  /// Some bytes of a recording from a place on, as many as there are in its piece; nil where there are none.
  public func bytes(
    at place: Int64, atMost count: Int64, in stage: UUID, of user: UUID
  ) async throws(DatabaseError) -> [UInt8]? {
    let bytes: [UInt8]? = try await database.value(
      """
      select substring(data from (\(place) - start)::integer + 1 for \(Int32(clamping: count))) from onboarding.staged_bytes
      where user_id = \(user) and stage_id = \(stage) and start <= \(place) order by start desc limit 1
      """)
    return bytes.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Makes a recording of staged bytes. What is there already stays, and the bytes are removed; but of one that is lost they are the new
  /// copy, and it is written down of them unless it was before.
  ///
  /// Until an answer refers to it, it is one that goes after a while; one that was to be deleted in the object store stays there. The
  /// transaction has the person's lock (``SubmissionStore/lock(_:in:)``).
  ///
  /// - Returns: Whether it is new, or has a copy again.
  @discardableResult
  public func add(
    _ digest: [UInt8], size: Int64, format: String, mediaType: String, duration: Duration? = nil, stage: UUID, of user: UUID,
    at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) -> Bool {
    let milliseconds = duration.map { Int64($0 / .milliseconds(1)) }
    let added = try await transaction.executeAll([
      """
      insert into onboarding.recording (
        user_id, digest, size, format, media_type, duration_ms, stage_id, state, created_at, updated_at, unreferred_since)
      values (
        \(user), \(digest), \(size), \(format), \(mediaType), \(milliseconds), \(stage), 'pending', \(now), \(now), \(now))
      on conflict (user_id, digest) do update set stage_id = excluded.stage_id, stored_at = null, reason = '',
        state = case recording.state when 'failed' then 'pending' else recording.state end, updated_at = excluded.updated_at
      where recording.reason = \(Self.lost)
      """, "delete from onboarding.unwanted_recording where user_id = \(user) and digest = \(digest)",
      """
      update onboarding.recording set unreferred_since = \(now)
      where user_id = \(user) and digest = \(digest) and unreferred_since < \(now)
      """,
    ])
    if added.first == 0 {
      try await transaction.execute(
        """
        delete from onboarding.staged_bytes where user_id = \(user) and stage_id = \(stage) and not exists (
          select from onboarding.recording where user_id = \(user) and stage_id = \(stage))
        """)
    }
    return added.first == 1
  }

  /// As ``add(_:size:format:mediaType:duration:stage:of:at:in:)`` for several at once, together with the next statement of the
  /// transaction: of recordings that are not there, or are lost.
  public func add(_ new: [StagedRecording], of user: UUID, at now: Instant, in transaction: Transaction) {
    guard !new.isEmpty else { return }
    let digests = new.map { ByteString($0.digest) }
    transaction.add(
      """
      insert into onboarding.recording (
        user_id, digest, size, format, media_type, stage_id, state, created_at, updated_at, unreferred_since)
      select \(user), digest, size, format, media_type, stage_id, 'pending', \(now), \(now), \(now)
      from unnest(\(digests), \(new.map(\.size)), \(new.map(\.format)), \(new.map(\.mediaType)), \(new.map(\.stage)))
        as new (digest, size, format, media_type, stage_id)
      on conflict (user_id, digest) do update set stage_id = excluded.stage_id, stored_at = null, reason = '',
        state = case recording.state when 'failed' then 'pending' else recording.state end, updated_at = excluded.updated_at
      where recording.reason = \(Self.lost)
      """)
    transaction.add("delete from onboarding.unwanted_recording where user_id = \(user) and digest = any(\(digests))")
    transaction.add(
      """
      update onboarding.recording set unreferred_since = \(now)
      where user_id = \(user) and digest = any(\(digests)) and unreferred_since < \(now)
      """)
  }

  /// Asks among other things which of some recordings of a person are there: a ``KnownRecording`` of each that is.
  public static func known(_ digests: [[UInt8]], of user: UUID) -> Query {
    """
    select digest, stored_at is not null, stored_at is not null and reason = \(lost) from onboarding.recording
    where user_id = \(user) and digest = any(\(digests.map { ByteString($0) }))
    """
  }

  /// The object store has a recording: its bytes need no longer wait.
  public func stored(
    _ digest: [UInt8], of user: UUID, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) {
    try await transaction.executeAll([
      """
      delete from onboarding.staged_bytes where user_id = \(user) and stage_id = (
        select stage_id from onboarding.recording where user_id = \(user) and digest = \(digest))
      """,
      """
      update onboarding.recording set stored_at = \(now), stage_id = null, updated_at = \(now)
      where user_id = \(user) and digest = \(digest)
      """,
    ])
  }

  /// The object store has a recording no more that it had.
  public func markLost(_ recording: KeptRecording, of user: UUID) async throws(DatabaseError) {
    try await database.execute(
      """
      update onboarding.recording set reason = \(Self.lost)
      where user_id = \(user) and digest = \(recording.digest) and stored_at = \(recording.storedAt) and state = 'done'
      """)
  }

  /// Asks among other things for the SHA-256 of each recording of a person that the object store has no more.
  public static func lostDigests(of user: UUID) -> Query {
    "select digest from onboarding.recording where user_id = \(user) and stored_at is not null and reason = \(lost)"
  }

  /// Asks among other things how many bytes a person's recordings have, here and in the object store, whether an answer refers to them
  /// or not: a number.
  public static func bytes(of user: UUID) -> Query {
    "select coalesce(sum(size), 0)::bigint from onboarding.recording where user_id = \(user)"
  }

  // MARK: Words

  /// What became of an attempt to write a recording down.
  public enum Outcome: Sendable, Hashable {
    /// There are words.
    case words(String, model: String)
    /// Nobody speaks, or not long enough.
    case nothing(TranscriptionState)
    /// It failed.
    case failed(reason: String)
  }

  /// Keeps what became of attempts.
  public func written(
    _ recordings: [PartStore.Heard], of user: UUID, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) {
    try await transaction.execute(Self.write(recordings, of: user, at: now))
  }

  static func write(_ heard: [PartStore.Heard], of user: UUID, at now: Instant) -> Query {
    let found = heard.map { heard -> (state: String, words: String, model: String, reason: String) in
      switch heard.outcome {
      case .words(let words, let model): (TranscriptionState.done.rawValue, words, model, "")
      case .nothing(let state): (state.rawValue, "", "", "")
      case .failed(let reason): (TranscriptionState.failed.rawValue, "", "", reason)
      }
    }
    // There are no NULLs in arrays: no words are an empty text, and no length is a negative one.
    let milliseconds = heard.map { $0.duration.map { Int64($0 / .milliseconds(1)) } ?? -1 }
    return
      """
      update onboarding.recording set state = heard.state, transcript = nullif(heard.words, ''), model = heard.model,
        reason = heard.reason, attempts = attempts + 1, duration_ms = coalesce(nullif(heard.duration, -1), duration_ms),
        updated_at = \(now)
      from unnest(
        \(heard.map { ByteString($0.recording.digest) }), \(found.map(\.state)), \(found.map(\.words)), \(found.map(\.model)),
        \(found.map(\.reason)), \(milliseconds)) as heard (digest, state, words, model, reason, duration)
      where recording.user_id = \(user) and recording.digest = heard.digest
      """
  }

  /// Has recordings written down anew.
  ///
  /// - Parameters:
  ///   - user: Whose.
  ///   - states: In which states.
  ///   - damagedToo: Whether also those that are damaged (``RecordingDamage``): the judgement may have been wrong, or a newer tool may read
  ///     them.
  ///   - now: The time.
  ///   - transaction: Where it is done.
  /// - Returns: How many.
  public func reopen(
    of user: UUID, _ states: [TranscriptionState], damagedToo: Bool = false, at now: Instant, in transaction: Transaction
  ) async throws(DatabaseError) -> Int {
    let left: [String] = damagedToo ? [] : RecordingDamage.words.sorted()
    return try await transaction.execute(
      """
      update onboarding.recording set state = 'pending', reason = '', updated_at = \(now)
      where user_id = \(user) and state = any(\(states.map(\.rawValue))) and reason <> all(\(left))
        and digest in (select recording from onboarding.answer where user_id = \(user) and recording is not null)
      """)
  }
}
