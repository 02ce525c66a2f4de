public import OnboardingDomain
public import PostgreSQL
public import Values

/// A recording as it is kept.
public struct KeptRecording: Sendable, Hashable {
  /// SHA-256 of its bytes.
  public var digest: [UInt8]
  /// How many bytes it has.
  public var size: Int64
  /// What it is: `m4a`.
  public var format: String
  /// Its media type.
  public var mediaType: String
  /// Where its bytes wait until the object store has them.
  public var stage: UUID?
  /// Since when the object store has them.
  public var storedAt: Instant?
  /// How long it is, once somebody has looked.
  public var duration: Duration?
  /// How far it has come.
  public var state: TranscriptionState
  /// What is said in it.
  public var transcript: String?
  /// Why it could not be written down, in a word.
  public var reason: String
  /// When it came.
  public var createdAt: Instant
  /// The first step whose answer it is; nil where it is none's.
  public var step: Int?

  /// Whether the object store has its bytes no more.
  public var isLost: Bool { storedAt != nil && reason == RecordingStore.lost }
}

extension KeptRecording: RowDecodable {
  /// For `onboarding.recording as recording`.
  static var columns: Query {
    """
    recording.digest, recording.size, recording.format, recording.media_type, recording.stage_id, recording.stored_at,
    recording.duration_ms, recording.state, recording.transcript, recording.reason, recording.created_at,
    (select min(answer.step) from onboarding.answer where answer.user_id = recording.user_id
      and answer.recording = recording.digest) as step
    """
  }

  /// Reads the columns of ``columns``.
  public init(_ row: Row) throws(DatabaseError) {
    let (digest, size, format, mediaType, stage, storedAt, duration, state, transcript, reason, createdAt, step) =
      try row.decode(
        as: (
          [UInt8], Int64, String, String, UUID?, Instant?, Int64?, String, String?, String, Instant, Int32?
        ).self)
    self.digest = digest
    self.size = size
    self.format = format
    self.mediaType = mediaType
    self.stage = stage
    self.storedAt = storedAt
    self.duration = duration.map { .milliseconds($0) }
    self.state = try named(state)
    self.transcript = transcript
    self.reason = reason
    self.createdAt = createdAt
    self.step = step.map(Int.init)
  }
}
