/// Why something could not be done with answers on this device.
public struct OnboardingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// A stable name.
    public let description: String

    /// A value is the path of a file, which means nothing anywhere else: recordings are stored as data URLs.
    public static let filePath = Code(description: "file_path")
    /// A recording is shorter than its step asks for.
    public static let tooShort = Code(description: "too_short")
    /// A recording is larger than any that the service takes.
    public static let tooLarge = Code(description: "too_large")
    /// A stored record or a file is not what it should be.
    public static let unreadable = Code(description: "unreadable")
    /// The person has not allowed recordings.
    public static let notPermitted = Code(description: "not_permitted")
    /// A recording was begun twice, or ended without having begun.
    public static let notRecording = Code(description: "not_recording")
  }

  /// The kind of failure.
  public let code: Code
  /// The step that it is about, where it is about one.
  public let step: Int?
  /// What happened, in a sentence that holds nothing that the person said.
  public let description: String

  init(_ code: Code, step: Int? = nil, _ description: String) {
    self.code = code
    self.step = step
    self.description = description
  }

  static func tooLarge(step: Int) -> OnboardingError {
    OnboardingError(
      .tooLarge, step: step,
      "the answer to step \(step) has more than the \(RecordingLimits.maximumBytes >> 20) MiB of a recording")
  }
}
