/// One answer as it came, in one form whatever the app.
public struct ReceivedAnswer: Sendable, Hashable {
  /// The step.
  public var step: Int
  /// How it was given, as the app said.
  public var type: String
  /// What was answered.
  public var content: AnswerContent
  /// What it is kept as: as the app said, or the catalogue.
  public var fields: [String]
  /// When it was given, in microseconds since 1970; nil where the app did not say, or nothing that can be read.
  public var answeredAt: Int64?
  /// How long the recording is, in seconds, as the device measured.
  public var duration: Double?
  /// How large the recording is in bytes, as the device measured.
  public var size: Int64?
  /// What the recording is: `m4a`.
  public var format: String
  /// Where the recording was on the device.
  public var voiceURI: String

  /// An answer from its parts.
  public init(
    step: Int, type: String, content: AnswerContent, fields: [String] = [], answeredAt: Int64? = nil, duration: Double? = nil,
    size: Int64? = nil, format: String = "", voiceURI: String = ""
  ) {
    self.step = step
    self.type = type
    self.content = content
    self.fields = fields
    self.answeredAt = answeredAt
    self.duration = duration
    self.size = size
    self.format = format
    self.voiceURI = voiceURI
  }
}
