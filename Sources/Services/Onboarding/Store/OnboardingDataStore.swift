public import PostgreSQL
public import Values

/// Everything that is kept of people, table by table: read out, counted, deleted.
public struct OnboardingDataStore: Sendable {
  let database: Database

  /// What is kept in `database`.
  public init(_ database: Database) { self.database = database }

  /// What tables hold, in the plural, and how it is read.
  private struct Records: Sendable {
    let kind: String
    let rows: @Sendable (UUID) -> Query
    let count: @Sendable (UUID) -> Query
  }

  /// Voices that may come to be: what a deletion leaves, until they have been looked for.
  public static let expectedVoices = "voices_in_the_making"
  /// Voices that are to be deleted at the provider: what a deletion leaves, until it answers.
  public static let unwantedVoices = "voices_to_delete"
  /// That somebody's account was deleted, until nothing can be on its way any more.
  public static let departures = "deletions"
  /// What a deletion leaves, for a while.
  public static let staying: Set<String> = [expectedVoices, unwantedVoices, departures]

  private static let records: [Records] = [
    Records(kind: "answers") {
      "select row_to_json(r)::text from (select * from onboarding.answer where user_id = \($0) order by step) as r"
    } count: {
      "select count(*) from onboarding.answer where user_id = \($0)"
    },
    Records(kind: "recordings") {
      """
      select row_to_json(r)::text from (
        select encode(digest, 'hex') as sha256, size, format, media_type, duration_ms, state, transcript, model, reason, created_at
        from onboarding.recording where user_id = \($0) order by digest) as r
      """
    } count: {
      "select count(*) from onboarding.recording where user_id = \($0)"
    },
    Records(kind: "unwanted_recordings") {
      """
      select row_to_json(r)::text from (
        select encode(digest, 'hex') as sha256, since from onboarding.unwanted_recording where user_id = \($0) order by digest) as r
      """
    } count: {
      "select count(*) from onboarding.unwanted_recording where user_id = \($0)"
    },
    Records(kind: "submissions") {
      """
      select row_to_json(r)::text from (
        select id, stage, name, zone, call_start, call_minutes, answers, recordings, device, created_at, done_at, (
          select json_agg(json_build_object('step', step, 'reason', reason, 'message', message))
          from onboarding.submission_warning as warning
          where warning.user_id = submission.user_id and warning.submission_id = submission.id) as warnings
        from onboarding.submission where user_id = \($0) order by id) as r
      """
    } count: {
      "select count(*) from onboarding.submission where user_id = \($0)"
    },
    Records(kind: "identity") {
      """
      select row_to_json(r)::text from (
        select name, summary, failure, extracted_at, updated_at from onboarding.identity where user_id = \($0)) as r
      """
    } count: {
      "select count(*) from onboarding.identity where user_id = \($0)"
    },
    Records(kind: "identity_fields") {
      """
      select row_to_json(r)::text from (
        select name, value, source, step, quote, model, updated_at from onboarding.identity_field where user_id = \($0)
        union all
        select name, value, 'correction', 0, '', '', updated_at from onboarding.identity_correction where user_id = \($0)
        order by name) as r
      """
    } count: {
      """
      select (select count(*) from onboarding.identity_field where user_id = \($0))
        + (select count(*) from onboarding.identity_correction where user_id = \($0))
      """
    },
    Records(kind: "voice") {
      "select row_to_json(r)::text from (select * from onboarding.voice where user_id = \($0)) as r"
    } count: {
      "select count(*) from onboarding.voice where user_id = \($0)"
    },
    Records(kind: expectedVoices) {
      "select row_to_json(r)::text from (select key, since, until, unwanted_since from onboarding.expected_voice where user_id = \($0)) as r"
    } count: {
      "select count(*) from onboarding.expected_voice where user_id = \($0)"
    },
    Records(kind: unwantedVoices) {
      """
      select row_to_json(r)::text from (
        select voice_id, since from onboarding.unwanted_voice where user_id = \($0) order by voice_id) as r
      """
    } count: {
      "select count(*) from onboarding.unwanted_voice where user_id = \($0)"
    },
    Records(kind: departures) {
      "select row_to_json(r)::text from (select since, until from onboarding.departure where user_id = \($0)) as r"
    } count: {
      "select count(*) from onboarding.departure where user_id = \($0)"
    },
    Records(kind: "effects") {
      "select row_to_json(r)::text from (select name, at from onboarding.effect where user_id = \($0) order by name) as r"
    } count: {
      "select count(*) from onboarding.effect where user_id = \($0)"
    },
    Records(kind: "uploads") {
      """
      select row_to_json(r)::text from (
        select upload_id, encode(digest, 'hex') as sha256, size, media_type, received, completed_at, touched_at
        from onboarding.upload where user_id = \($0) order by upload_id) as r
      """
    } count: {
      "select count(*) from onboarding.upload where user_id = \($0)"
    },
  ]

  /// Reads out everything, table by table, each row as one JSON object.
  public func read(_ user: UUID, _ take: (_ kind: String, _ rows: [String]) async throws -> Void) async throws {
    for records in Self.records {
      let rows: [String] = try await database.rows(records.rows(user), as: String.self)
      if !rows.isEmpty { try await take(records.kind, rows) }
    }
  }

  /// How many rows there are of each kind; kinds without any are left out.
  public func count(_ user: UUID, on place: (any QueryRunning)? = nil) async throws(DatabaseError) -> [(
    kind: String, count: Int64
  )] {
    var counts: [(String, Int64)] = []
    for records in Self.records {
      let count: Int64 = try await (place ?? database).value(records.count(user)) ?? 0
      if count > 0 { counts.append((records.kind, count)) }
    }
    return counts
  }

  /// How many pieces of recordings go at once, each of up to 1 MiB.
  private static let pieces: Int64 = 64

  /// Deletes the pieces of a person's recordings, a few at a time: before ``delete(_:in:)``, which would take too long with all of them.
  public func deletePieces(_ user: UUID) async throws(DatabaseError) {
    _ = try await database.sweep(
      """
      delete from onboarding.staged_bytes where (user_id, stage_id, start) in (
        select user_id, stage_id, start from onboarding.staged_bytes where user_id = \(user) limit \(Self.pieces))
      """, batch: Self.pieces)
  }

  /// Deletes everything of a person but the voices that the provider still has, or may come to have, and the note that the account is
  /// deleted.
  ///
  /// - Returns: How many rows there were of each kind.
  public func delete(_ user: UUID, in transaction: Transaction) async throws(DatabaseError) -> [(kind: String, count: Int64)] {
    let counts = try await count(user, on: transaction).filter { !Self.staying.contains($0.kind) }
    try await transaction.executeAll([
      "delete from onboarding.answer where user_id = \(user)", "delete from onboarding.staged_bytes where user_id = \(user)",
      "delete from onboarding.recording where user_id = \(user)",
      "delete from onboarding.unwanted_recording where user_id = \(user)",
      "delete from onboarding.upload where user_id = \(user)",
      "delete from onboarding.submission_event where user_id = \(user)",
      "delete from onboarding.submission_warning where user_id = \(user)",
      "delete from onboarding.submission where user_id = \(user)", "delete from onboarding.identity where user_id = \(user)",
      "delete from onboarding.identity_field where user_id = \(user)",
      "delete from onboarding.identity_correction where user_id = \(user)",
      "delete from onboarding.voice where user_id = \(user)", "delete from onboarding.work where user_id = \(user)",
      "delete from onboarding.effect where user_id = \(user)",
    ])
    return counts
  }
}
