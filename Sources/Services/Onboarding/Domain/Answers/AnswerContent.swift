/// What was answered, in the forms that apps send it.
public enum AnswerContent: Sendable, Hashable {
  /// Nothing.
  case none
  /// Text, a choice, a time; or what stood in its place, in one form: `7,9` for sliders, `20:30-21:00` for a window.
  case text(String)
  /// A data URL, which nobody has looked into: a recording, or what was sent in the place of one.
  case dataURL(String)
  /// A recording that was uploaded before, by its SHA-256: 32 bytes.
  case recording([UInt8])

  /// What an app sent as text.
  public init(text: String) {
    if text.isEmpty {
      self = .none
    } else if text.isDataURL {
      self = .dataURL(text)
    } else if let digest = Self.digest(text) {
      self = .recording(digest)
    } else {
      self = .text(text)
    }
  }

  /// How an answer refers to a recording: `recording:` and 64 hexadecimal digits.
  public static func reference(_ digest: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text = Array("recording:".utf8)
    for byte in digest {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func digest(_ text: String) -> [UInt8]? {
    guard text.utf8.count == 74, text.hasPrefix("recording:") else { return nil }
    var digest: [UInt8] = []
    var high: UInt8?
    for byte in text.utf8.dropFirst(10) {
      guard let digit = UInt8(String(UnicodeScalar(byte)), radix: 16) else { return nil }
      if let first = high {
        digest.append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    return digest
  }
}
