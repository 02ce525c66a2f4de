extension JSONReader {
  /// Reads a string, from its opening quote to behind its closing one.
  ///
  /// A string without escapes is validated and copied once. With escapes, the resolved bytes are gathered first and
  /// validated whole: an escape always yields complete sequences, so it cannot complete a broken raw one.
  mutating func readString() throws(JSONError) -> String {
    let start = offset
    offset += 1
    var runStart = offset
    var resolved: [UInt8] = []
    var hasEscapes = false
    while true {
      let byte = try currentByte()
      if byte == UInt8(ascii: "\"") { break }
      guard byte >= 0x20 else { throw error(.controlCharacter, "a string holds a raw control character") }
      guard byte == UInt8(ascii: "\\") else {
        offset += 1
        continue
      }
      hasEscapes = true
      resolved.append(contentsOf: bytes[runStart..<offset])
      try readEscape(into: &resolved)
      runStart = offset
    }
    let run = UnsafeRawBufferPointer(rebasing: bytes[runStart..<offset])
    offset += 1
    let string: String?
    if hasEscapes {
      resolved.append(contentsOf: run)
      string = String(validating: resolved, as: UTF8.self)
    } else {
      string = run.withMemoryRebound(to: UInt8.self) { String(validating: $0, as: UTF8.self) }
    }
    guard let string else { throw JSONError(code: .invalidUTF8, offset: start, message: "a string is not UTF-8") }
    return string
  }

  private mutating func readEscape(into resolved: inout [UInt8]) throws(JSONError) {
    let start = offset
    offset += 1
    let byte = try currentByte()
    offset += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): resolved.append(byte)
    case UInt8(ascii: "b"): resolved.append(0x08)
    case UInt8(ascii: "f"): resolved.append(0x0C)
    case UInt8(ascii: "n"): resolved.append(0x0A)
    case UInt8(ascii: "r"): resolved.append(0x0D)
    case UInt8(ascii: "t"): resolved.append(0x09)
    case UInt8(ascii: "u"): resolved.append(contentsOf: UTF8.encode(try readCodePoint(escapeStart: start))!)
    default: throw JSONError(code: .invalidEscape, offset: start, message: "a string holds an unknown escape")
    }
  }

  /// Reads the four digits behind `\u`, and the second escape of a pair if they begin one.
  private mutating func readCodePoint(escapeStart: Int) throws(JSONError) -> Unicode.Scalar {
    let first = try readFourHexDigits(escapeStart: escapeStart)
    if let scalar = Unicode.Scalar(first) { return scalar }
    let lone = JSONError(code: .invalidEscape, offset: escapeStart, message: "an escape names half of a surrogate pair")
    guard first < 0xDC00 else { throw lone }
    guard try currentByte() == UInt8(ascii: "\\") else { throw lone }
    let secondStart = offset
    offset += 1
    guard try currentByte() == UInt8(ascii: "u") else { throw lone }
    offset += 1
    let second = try readFourHexDigits(escapeStart: secondStart)
    guard second >= 0xDC00, second <= 0xDFFF, let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw lone }
    return scalar
  }

  private mutating func readFourHexDigits(escapeStart: Int) throws(JSONError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      let byte = try currentByte()
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - 48
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - 87
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - 55
      default: throw JSONError(code: .invalidEscape, offset: escapeStart, message: "an escape needs four hexadecimal digits")
      }
      value = value << 4 | UInt32(digit)
      offset += 1
    }
    return value
  }
}
