extension StringProtocol {
  /// The text without blanks and tabs around it.
  package var trimmed: Substring {
    let isBlank = { (character: Character) in character == " " || character == "\t" }
    var rest = Substring(self).drop(while: isBlank)
    while let last = rest.last, isBlank(last) { rest = rest.dropLast() }
    return rest
  }

  /// Whether it is a name as programs give them: 1 to 64 letters, digits, dots, hyphens and underscores. Such a name from an answer may
  /// be shown and counted; any other text may quote what was asked.
  package var isPlainName: Bool {
    (1...64).contains(utf8.count)
      && utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default: "_-.".utf8.contains(byte)
        }
      }
  }
}
