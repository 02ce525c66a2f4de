/// What a text is that came as an answer: words, bytes, or a place where there are some.
extension String {
  /// Whether it is what a person said, in an answer of this type; not bytes, nor where a recording is.
  public func isSaid(as type: String) -> Bool {
    !isDataURL && !hasPrefix("recording:") && !(type == StepType.voice.rawValue && isPlace)
  }

  /// Whether it begins as a data URL does (RFC 2397), whatever follows: `data:` and the type of something, or how it is written. Words
  /// have a blank before either.
  ///
  /// `onboarding.answer` is read by the same rule: what is one may be megabytes.
  var isDataURL: Bool {
    guard utf8.prefix(5).elementsEqual("data:".utf8, by: { $0 | 0x20 == $1 | 0x20 }) else { return false }
    for byte in utf8.dropFirst(5).prefix(Self.longestType) {
      switch byte {
      case UInt8(ascii: "/"), UInt8(ascii: ";"): return true
      case UInt8(ascii: ","), 0...0x20: return false
      default: continue
      }
    }
    return false
  }

  private static let longestType = 255

  /// Whether it says where a file is, and nothing else: a path from the root, or a URL. Apps have such places of their recordings, and
  /// nobody else can look there.
  var isPlace: Bool {
    let text = trimmed
    guard !text.contains(where: \.isWhitespace) else { return false }
    if text.hasPrefix("/") { return true }
    let scheme = text.utf8.prefix { $0 != UInt8(ascii: ":") }
    guard (2...32).contains(scheme.count), scheme.count < text.utf8.count else { return false }
    let isScheme = scheme.allSatisfy { byte in
      (0x61...0x7a).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "+-.".utf8.contains(byte)
    }
    return isScheme && text.utf8.dropFirst(scheme.count + 1).starts(with: "/".utf8)
  }
}

extension ReceivedAnswer {
  /// Whether it names the place of a recording, instead of being one.
  public var isPlaceOfRecording: Bool {
    guard type == StepType.voice.rawValue, case .text(let text) = content else { return false }
    return text.isPlace
  }
}
