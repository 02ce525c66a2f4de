/// What one submission may have.
public enum SubmissionLimits {
  /// The most answers.
  public static let answers = 60
  /// The largest message that brings all answers at once, in bytes.
  public static let message = 64 << 20
  /// The largest recording that is kept, in bytes.
  public static let recording = 10 << 20
  /// The largest recording that is written down without being kept, in bytes: a request of 25 MiB, which is what providers take, has
  /// room for it and for the form around it.
  public static let transcription = (25 << 20) - (4 << 10)
  /// The longest recording of somebody without an account.
  public static let strangersRecording: Duration = .seconds(60)
  /// The longest text answer, in bytes.
  public static let text = 64 << 10
  /// The most fields that one answer is kept as.
  public static let fields = 8
  /// The longest name of a field, in bytes.
  public static let fieldName = 64
  /// The longest name of how an answer was given, in bytes.
  public static let type = 32
  /// The longest name of what a recording is, in bytes.
  public static let format = 32
  /// The longest place of a recording on a device, in bytes.
  public static let voiceURI = 2 << 10
  /// The largest record of somebody without an account, in bytes.
  public static let anonymousRecord = 64 << 10
  /// The largest piece of an upload, in bytes.
  public static let piece = 1 << 20
  /// The most uploads of a person that are under way.
  public static let openUploads = 32
  /// The most uploads of a person that are known, whether they are complete or not.
  public static let uploads = 1_000
  /// How many bytes a person's recordings may have, in the database and in the object store, whether an answer refers to them or not, with
  /// what uploads under way announced.
  public static let recordingBytes: Int64 = 512 << 20
  /// The most that wait for what becomes of a submission when another one begins to watch it.
  public static let watchers = 16
  /// The longest value of a field of the identity, in characters.
  public static let fieldValue = 2_000
  /// The same in bytes.
  public static let fieldValueBytes = 8 << 10
  /// The longest name of a person that is kept, in bytes.
  public static let nameBytes = 1 << 10
  /// The longest name of a text that was agreed to, in characters.
  public static let statement = 64
  /// The same in bytes.
  public static let statementBytes = 256
  /// The longest token by which a device is rung, in bytes.
  public static let token = 4 << 10
  /// What is said of a device, in bytes of JSON.
  public static let device = 4 << 10
}
