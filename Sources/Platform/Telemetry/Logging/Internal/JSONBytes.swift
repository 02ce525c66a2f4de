/// Pieces of JSON for lines whose form is known beforehand.
enum JSONBytes {
  /// The text between its quotes, without them.
  static func appendEscaped(_ text: String, to bytes: inout [UInt8]) {
    let utf8 = text.utf8
    // Nearly all text is as it must be: addresses and identifiers.
    let isCopied: Void? = utf8.withContiguousStorageIfAvailable { text in
      if text.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
        bytes.append(contentsOf: text)
      } else {
        escape(text, to: &bytes)
      }
    }
    if isCopied == nil { escape(utf8, to: &bytes) }
  }

  private static func escape(_ text: some Sequence<UInt8>, to bytes: inout [UInt8]) {
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0..<0x20:
        bytes.append(contentsOf: Array("\\u00".utf8))
        for digit in [byte >> 4, byte & 15] { bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit) }
      default: bytes.append(byte)
      }
    }
  }

  static func append(_ text: StaticString, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// A number of milliseconds with three decimals, from nanoseconds.
  static func appendMilliseconds(_ nanoseconds: UInt64, to bytes: inout [UInt8]) {
    let microseconds = nanoseconds / 1_000
    append(microseconds / 1_000, to: &bytes)
    bytes.append(UInt8(ascii: "."))
    appendThree(microseconds % 1_000, to: &bytes)
  }

  /// A number below a thousand with three digits.
  static func appendThree(_ number: UInt64, to bytes: inout [UInt8]) {
    bytes.append(0x30 + UInt8(truncatingIfNeeded: number / 100))
    bytes.append(0x30 + UInt8(truncatingIfNeeded: number / 10 % 10))
    bytes.append(0x30 + UInt8(truncatingIfNeeded: number % 10))
  }

  static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    guard number >= 10 else { return bytes.append(0x30 + UInt8(number)) }
    append(number / 10, to: &bytes)
    bytes.append(0x30 + UInt8(number % 10))
  }
}
