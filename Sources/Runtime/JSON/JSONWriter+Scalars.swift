extension JSONWriter {
  /// Writes `null`.
  public mutating func null() { word("null") }

  /// Writes `true` or `false`.
  public mutating func bool(_ value: Bool) { word(value ? "true" : "false") }

  /// Writes a string.
  public mutating func string(_ value: String) {
    prepareForElement()
    appendQuoted(value)
  }

  /// Writes a string whose bytes are known to be UTF-8.
  public mutating func string(utf8 value: UnsafeBufferPointer<UInt8>) {
    prepareForElement()
    bytes.append(UInt8(ascii: "\""))
    appendEscaped(value)
    bytes.append(UInt8(ascii: "\""))
  }

  /// Writes a number as it is spelled.
  public mutating func number(_ value: JSONNumber) {
    prepareForElement()
    bytes.append(contentsOf: value.text.utf8)
  }

  /// Writes a whole number; quoted, it is a string, as proto3 JSON writes 64-bit integers.
  public mutating func int(_ value: Int64, quoted: Bool = false) {
    integer(value.magnitude, isNegative: value < 0, quoted: quoted)
  }

  /// Writes a whole number.
  public mutating func int(_ value: Int) { integer(UInt64(value.magnitude), isNegative: value < 0, quoted: false) }

  /// Writes a whole number without sign; quoted, it is a string, as proto3 JSON writes 64-bit integers.
  public mutating func uint(_ value: UInt64, quoted: Bool = false) { integer(value, isNegative: false, quoted: quoted) }

  /// Writes the shortest number that reads back as the same double. What JSON cannot spell becomes one of the strings
  /// `"NaN"`, `"Infinity"` and `"-Infinity"`, as in proto3 JSON.
  public mutating func double(_ value: Double) { floatingPoint(value) }

  /// Writes the shortest number that reads back as the same float; infinities and NaN as ``double(_:)`` does.
  public mutating func float(_ value: Float) { floatingPoint(value) }

  private mutating func floatingPoint(_ value: some BinaryFloatingPoint & CustomStringConvertible) {
    guard value.isFinite else { return string(value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity") }
    prepareForElement()
    bytes.append(contentsOf: value.shortestText.utf8)
  }

  private mutating func word(_ word: StaticString) {
    prepareForElement()
    bytes.append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
  }

  private mutating func integer(_ magnitude: UInt64, isNegative: Bool, quoted: Bool) {
    prepareForElement()
    if quoted { bytes.append(UInt8(ascii: "\"")) }
    if isNegative { bytes.append(UInt8(ascii: "-")) }
    let start = bytes.count
    var rest = magnitude
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest != 0
    bytes[start...].reverse()
    if quoted { bytes.append(UInt8(ascii: "\"")) }
  }

  mutating func appendQuoted(_ value: String) {
    bytes.append(UInt8(ascii: "\""))
    var value = value
    value.withUTF8 { appendEscaped($0) }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Appends in runs; RFC 8259 section 7 asks to escape the quote, the backslash and U+0000 to U+001F, and no more.
  private mutating func appendEscaped(_ value: UnsafeBufferPointer<UInt8>) {
    var runStart = 0
    for index in 0..<value.count {
      let byte = value[index]
      guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: value[runStart..<index]))
      runStart = index + 1
      bytes.append(UInt8(ascii: "\\"))
      switch byte {
      case 0x08: bytes.append(UInt8(ascii: "b"))
      case 0x09: bytes.append(UInt8(ascii: "t"))
      case 0x0A: bytes.append(UInt8(ascii: "n"))
      case 0x0C: bytes.append(UInt8(ascii: "f"))
      case 0x0D: bytes.append(UInt8(ascii: "r"))
      case 0x00..<0x20:
        bytes.append(contentsOf: "u00".utf8)
        bytes.append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
        let digit = byte & 0xF
        bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
      default: bytes.append(byte)
      }
    }
    bytes.append(contentsOf: UnsafeBufferPointer(rebasing: value[runStart...]))
  }
}
