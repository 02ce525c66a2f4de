public import OnboardingDomain
public import PostgreSQL
public import Values

/// An answer as it is kept.
public struct KeptAnswer: Sendable, Hashable {
  /// The step.
  public var step: Int
  /// How it was given.
  public var type: String
  /// What was typed or chosen; nil for a recording. What came in the place of one and is none is written, and not read: it is megabytes,
  /// and says nothing.
  public var text: String?
  /// SHA-256 of a recording.
  public var recording: [UInt8]?
  /// What it is kept as.
  public var fields: [String]
  /// When it was given, where the device said so.
  public var answeredAt: Instant?
  /// How long the recording is, in seconds, as the device measured.
  public var duration: Double?
  /// How large the recording is in bytes, as the device measured.
  public var size: Int64?
  /// What the recording is: `m4a`.
  public var format: String
  /// Where the recording was on the device.
  public var voiceURI: String

  /// An answer to be kept: `answer`, with its recording looked into.
  ///
  /// - Parameters:
  ///   - answer: What came.
  ///   - text: What was typed or chosen, or came in the place of a recording and is none.
  ///   - recording: The recording's SHA-256.
  public init(_ answer: ReceivedAnswer, text: String?, recording: [UInt8]?) {
    step = answer.step
    type = answer.type
    self.text = text
    self.recording = recording
    fields = answer.fields
    answeredAt = answer.answeredAt.map { Instant(microseconds: $0) }
    duration = answer.duration
    size = answer.size
    format = answer.format
    voiceURI = answer.voiceURI
  }
}

extension KeptAnswer: RowDecodable {
  /// Of data URLs only the beginning is looked at (`String.isSaid`).
  static var columns: Query {
    """
    step, type, case when left(value, 260) !~* '^data:[^,[:cntrl:][:space:]]*[/;]' then value end, recording, fields, answered_at,
    duration_seconds, audio_size, audio_format, voice_uri
    """
  }

  /// Reads the columns of ``columns``.
  public init(_ row: Row) throws(DatabaseError) {
    let (step, type, text, recording, fields, answeredAt, duration, size, format, voiceURI) = try row.decode(
      as: (Int32, String, String?, [UInt8]?, [String], Instant?, Double?, Int64?, String, String).self)
    self.step = Int(step)
    self.type = type
    self.text = text
    self.recording = recording
    self.fields = fields
    self.answeredAt = answeredAt
    self.duration = duration
    self.size = size
    self.format = format
    self.voiceURI = voiceURI
  }
}
