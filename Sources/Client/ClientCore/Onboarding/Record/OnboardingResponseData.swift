public import Foundation
public import JSON

/// One answer as it is kept on the device.
public struct OnboardingResponseData: Sendable, Hashable {
  /// How it was given: `voice`, `text`, `choice`, `dual_sliders`, `time_window_picker`, …
  public var type: String
  /// The answer: text, a recording as a data URL, or an object or a list where that is what an app keeps.
  public var value: JSONValue?
  /// When it was given, ISO 8601.
  public var timestamp: String
  /// Where the recording is on the device. It is never the answer.
  public var voiceUri: String?
  /// How long the recording is, or the hold of a button was, in seconds.
  public var duration: Double?
  /// How large the recording is, in bytes.
  public var audioFileSize: Int?
  /// What the recording is: `m4a`.
  public var audioFormat: String?
  /// What the answer is kept as; the service's catalogue says so otherwise.
  public var dbField: [String]
  /// What was chosen.
  public var selectedOption: String?
  /// The sliders' places.
  public var sliders: [Double]

  /// An answer of any kind.
  ///
  /// - Parameters:
  ///   - type: How it was given.
  ///   - value: The answer.
  ///   - time: When.
  public init(type: String, value: JSONValue?, at time: Date = Date()) {
    self.type = type
    self.value = value
    timestamp = StoredOnboardingData.text(time)
    dbField = []
    sliders = []
  }

  /// An answer that was written.
  public static func text(_ text: String, at time: Date = Date()) -> OnboardingResponseData {
    OnboardingResponseData(type: "text", value: .string(text), at: time)
  }

  /// An answer that was chosen.
  public static func choice(_ option: String, at time: Date = Date()) -> OnboardingResponseData {
    var response = OnboardingResponseData(type: "choice", value: .string(option), at: time)
    response.selectedOption = option
    return response
  }

  /// An answer that was spoken, with the recording in it.
  ///
  /// - Parameters:
  ///   - recording: The recording.
  ///   - step: The step.
  ///   - limits: How long recordings are at least.
  ///   - time: When.
  /// - Throws: ``OnboardingError`` with ``OnboardingError/Code/tooShort`` before the step's minimum is reached; with
  ///   ``OnboardingError/Code/tooLarge`` beyond ``RecordingLimits/maximumBytes``, of which the service would keep nothing; with
  ///   ``OnboardingError/Code/unreadable`` when the file is not there or is no recording.
  public static func voice(
    _ recording: AudioRecording, step: Int, limits: RecordingLimits = RecordingLimits(), at time: Date = Date()
  ) throws(OnboardingError) -> OnboardingResponseData {
    try limits.check(recording, step: step)
    let url = try DataURL(recording)
    guard url.bytes.count <= RecordingLimits.maximumBytes else { throw .tooLarge(step: step) }
    var response = OnboardingResponseData(type: "voice", value: .string(url.text), at: time)
    response.voiceUri = recording.fileURL.absoluteString
    response.duration = recording.duration
    response.audioFileSize = url.bytes.count
    response.audioFormat = recording.format
    return response
  }

  /// Whether the answer, or anything in it, is the path of a file.
  var holdsFilePath: Bool { value.map { Self.holds($0) { FilePath.isOne($0, isVoice: type == "voice") } } ?? false }

  /// Whether a recording in the answer is larger than any that the service takes.
  var holdsTooLargeRecording: Bool {
    value.map { Self.holds($0) { (DataURL.byteCount(of: $0) ?? 0) > RecordingLimits.maximumBytes } } ?? false
  }

  private static func holds(_ value: JSONValue, _ isMeant: (String) -> Bool) -> Bool {
    switch value {
    case .string(let text): isMeant(text)
    case .array(let values): values.contains { holds($0, isMeant) }
    case .object(let object): object.contains { holds($0.value, isMeant) }
    default: false
    }
  }
}

/// What looks like the place of a file on a device.
private enum FilePath {
  private static let endings = ["m4a", "mp4", "mp3", "wav", "caf", "aac", "webm", "ogg", "opus", "flac"].map {
    Array(".\($0)".utf8)
  }
  private static let schemes = ["file:", "content:", "ph:", "assets-library:"].map { Array($0.utf8) }
  private static let beginnings = ["/", "~/", "./", "../", "\\\\", "c:\\"].map { Array($0.utf8) }

  /// - Parameter isVoice: Whether a recording is expected, so that anything that begins like a path is one. Elsewhere people may
  ///   well write `/`.
  static func isOne(_ text: String, isVoice: Bool) -> Bool {
    let head = lowered(text.utf8.prefix(16))
    // A recording may have millions of characters, of which the first say what it is.
    if head.starts(with: "data:".utf8) || head.starts(with: "recording:".utf8) { return false }
    if let scheme = schemes.first(where: { head.starts(with: $0) }) {
      // People write `ph:7` and `content:unknown` as well; no address of theirs goes on with a slash.
      let hasPlace = head.dropFirst(scheme.count).first == UInt8(ascii: "/")
      return (isVoice || hasPlace) && (!text.contains(" ") || head.starts(with: "file:/".utf8))
    }
    if head.starts(with: "https:".utf8) || head.starts(with: "http:".utf8) { return false }
    let tail = lowered(text.utf8.suffix(5))
    let isNamedLikeAudio = endings.contains { tail.suffix($0.count).elementsEqual($0) }
    let beginsLikePath = beginnings.contains { head.starts(with: $0) }
    return isVoice ? beginsLikePath || (isNamedLikeAudio && !text.contains(" ")) : beginsLikePath && isNamedLikeAudio
  }

  private static func lowered(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    bytes.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
  }
}
