public import OnboardingDomain
public import PostgreSQL
public import Values

/// A submission as it is kept.
public struct KeptSubmission: Sendable, Hashable {
  /// Whose it is.
  public var user: UUID
  /// Its identifier.
  public var id: UUID
  /// SHA-256 of what was submitted.
  public var contentHash: [UInt8]
  /// What is being done.
  public var stage: SubmissionStage
  /// What the person is called.
  public var name: String
  /// The person's zone.
  public var zone: String
  /// When the person is to be called, in minutes after midnight of the zone; nil where nobody said.
  public var callStart: Int?
  /// For how many minutes from then on.
  public var callMinutes: Int?
  /// How many answers came.
  public var answers: Int
  /// How many recordings were among them.
  public var recordings: Int
  /// How often what failed has been tried again.
  public var round: Int
  /// How often it got a job again whose work had not ended.
  public var renewals: Int
  /// When it last did.
  public var renewedAt: Instant?
  /// Until when what failed is not tried again by itself, where a provider has named a time.
  public var restsUntil: Instant?
  /// When it came.
  public var createdAt: Instant
  /// When anything changed.
  public var updatedAt: Instant
  /// When the work on it ended; nil while it goes on.
  public var doneAt: Instant?
}

extension KeptSubmission: RowDecodable {
  static var columns: Query {
    """
    user_id, id, content_hash, stage, name, zone, call_start, call_minutes, answers, recordings, retry_round, renewals, renewed_at,
    rests_until, created_at, updated_at, done_at
    """
  }

  /// Reads the columns of ``columns``.
  public init(_ row: Row) throws(DatabaseError) {
    let (
      user, id, hash, stage, name, zone, callStart, callMinutes, answers, recordings, round, renewals, renewedAt, restsUntil,
      createdAt, updatedAt, doneAt
    ) =
      try row.decode(
        as: (
          UUID, UUID, [UInt8], String, String, String, Int32?, Int32?, Int32, Int32, Int32, Int32, Instant?, Instant?,
          Instant, Instant, Instant?
        ).self)
    self.user = user
    self.id = id
    contentHash = hash
    self.stage = try named(stage)
    self.name = name
    self.zone = zone
    self.callStart = callStart.map(Int.init)
    self.callMinutes = callMinutes.map(Int.init)
    self.answers = Int(answers)
    self.recordings = Int(recordings)
    self.round = Int(round)
    self.renewals = Int(renewals)
    self.renewedAt = renewedAt
    self.restsUntil = restsUntil
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.doneAt = doneAt
  }
}

/// One event in the course of a submission.
public struct SubmissionEvent: Sendable, Hashable {
  /// Its number, from 1.
  public var sequence: Int64
  /// What was being done.
  public var stage: SubmissionStage
  /// What was being done before the submission was given up; nil for every other event.
  public var last: SubmissionStage?
  /// How many parts of the stage were done.
  public var done: Int
  /// How many parts the stage has.
  public var total: Int
  /// The step that it happened to; 0 where it is none's.
  public var step: Int
  /// When.
  public var at: Instant
}

extension SubmissionEvent: RowDecodable {
  /// Reads the columns of an event.
  public init(_ row: Row) throws(DatabaseError) { try self.init(row, from: 0) }

  /// Reads the columns of an event, the first of which is at a place in the row.
  init(_ row: Row, from first: Int) throws(DatabaseError) {
    sequence = try row.decode(at: first)
    stage = try named(row.decode(at: first + 1))
    done = Int(try row.decode(Int32.self, at: first + 2))
    total = Int(try row.decode(Int32.self, at: first + 3))
    step = Int(try row.decode(Int32.self, at: first + 4))
    at = try row.decode(at: first + 5)
    last = try row.decode(String?.self, at: first + 6).map { text throws(DatabaseError) in try named(text) }
  }
}
