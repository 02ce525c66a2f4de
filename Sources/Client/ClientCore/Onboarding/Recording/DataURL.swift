import Foundation
import MessagesCore

/// A recording as text: `data:audio/m4a;base64,…` (RFC 2397).
public struct DataURL: Sendable, Hashable {
  /// What the bytes are, without parameters, in lower case: `audio/m4a`.
  public let mediaType: String
  /// The bytes.
  public let bytes: [UInt8]

  /// Bytes with their media type.
  public init(mediaType: String, bytes: [UInt8]) {
    self.mediaType = mediaType
    self.bytes = bytes
  }

  /// Reads the text of a data URL; nil for anything else, for another encoding than base64, and for bad base64.
  public init?(_ text: String) {
    guard let comma = text.utf8.prefix(256).firstIndex(of: UInt8(ascii: ",")) else { return nil }
    let head = text[..<comma].lowercased()
    guard head.hasPrefix("data:"), head.hasSuffix(";base64") else { return nil }
    let type = head.dropFirst("data:".count).prefix { $0 != ";" }
    guard type.split(separator: "/", omittingEmptySubsequences: false).filter({ !$0.isEmpty }).count == 2,
      let bytes = Bytes(base64: String(text[text.utf8.index(after: comma)...]))
    else { return nil }
    self.init(mediaType: String(type), bytes: Array(bytes))
  }

  /// The bytes of a recording's file.
  ///
  /// - Throws: ``OnboardingError`` with ``OnboardingError/Code/unreadable`` when the file is not there or its format is not known.
  public init(_ recording: AudioRecording) throws(OnboardingError) {
    guard let type = Self.mediaType(ofFormat: recording.format) else {
      throw OnboardingError(.unreadable, "'\(recording.format.prefix(20))' is no format of recordings that is known")
    }
    guard let data = try? Data(contentsOf: recording.fileURL) else {
      throw OnboardingError(.unreadable, "the file of the recording cannot be read")
    }
    self.init(mediaType: type, bytes: [UInt8](data))
  }

  /// The URL.
  public var text: String { "data:\(mediaType);base64,\(Bytes(bytes).base64)" }

  /// How many bytes are in the text of a data URL, by its length alone; nil for anything else.
  static func byteCount(of text: String) -> Int? {
    guard text.utf8.prefix(5).elementsEqual("data:".utf8, by: { $0 | 0x20 == $1 | 0x20 }),
      let comma = text.utf8.prefix(256).firstIndex(of: UInt8(ascii: ","))
    else { return nil }
    let padding = text.utf8.suffix(2).count { $0 == UInt8(ascii: "=") }
    return (text.utf8.distance(from: comma, to: text.utf8.endIndex) - 1 - padding) * 3 / 4
  }

  /// Whether it is a recording.
  var isAudio: Bool { mediaType.hasPrefix("audio/") }

  /// The media type of files with this ending; nil for those that are no recordings.
  ///
  /// - Parameter format: The ending, without a dot, in upper or lower case: `m4a`.
  public static func mediaType(ofFormat format: String) -> String? {
    switch format.lowercased() {
    case "m4a", "mp4": "audio/m4a"
    case "aac": "audio/aac"
    case "mp3": "audio/mpeg"
    case "wav": "audio/wav"
    case "webm": "audio/webm"
    default: nil
    }
  }
}
