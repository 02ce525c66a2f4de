/// The name of a trace: 16 bytes that are not all zero.
public struct TraceID: Sendable, Hashable, CustomStringConvertible {
  let high: UInt64
  let low: UInt64

  init?(high: UInt64, low: UInt64) {
    guard high | low != 0 else { return nil }
    self.high = high
    self.low = low
  }

  /// Reads 32 lower-case hexadecimal digits; nil for anything else, and for zero.
  public init?(_ text: some StringProtocol) {
    let digits = Array(text.utf8)
    guard digits.count == 32, let high = Hexadecimal.read(digits[..<16]), let low = Hexadecimal.read(digits[16...]) else {
      return nil
    }
    self.init(high: high, low: low)
  }

  /// 32 lower-case hexadecimal digits.
  public var description: String { Hexadecimal.text(high) + Hexadecimal.text(low) }

  /// The 16 bytes.
  public var bytes: [UInt8] { Hexadecimal.bytes(high) + Hexadecimal.bytes(low) }
}

/// The name of a span within its trace: 8 bytes that are not all zero.
public struct SpanID: Sendable, Hashable, CustomStringConvertible {
  let value: UInt64

  init?(_ value: UInt64) {
    guard value != 0 else { return nil }
    self.value = value
  }

  /// Reads 16 lower-case hexadecimal digits; nil for anything else, and for zero.
  public init?(_ text: some StringProtocol) {
    let digits = Array(text.utf8)
    guard digits.count == 16, let value = Hexadecimal.read(digits[...]) else { return nil }
    self.init(value)
  }

  /// 16 lower-case hexadecimal digits.
  public var description: String { Hexadecimal.text(value) }

  /// The 8 bytes.
  public var bytes: [UInt8] { Hexadecimal.bytes(value) }
}

/// Numbers as W3C Trace Context writes them: lower case, all digits.
enum Hexadecimal {
  static func read(_ digits: ArraySlice<UInt8>) -> UInt64? {
    var value: UInt64 = 0
    for digit in digits {
      switch digit {
      case 0x30...0x39: value = value << 4 | UInt64(digit - 0x30)
      case 0x61...0x66: value = value << 4 | UInt64(digit - 0x57)
      default: return nil
      }
    }
    return value
  }

  static func text(_ value: UInt64) -> String {
    String(unsafeUninitializedCapacity: 16) { text in
      for index in 0..<16 {
        let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - index * 4)) & 15
        text[index] = digit < 10 ? 0x30 + digit : 0x57 + digit
      }
      return 16
    }
  }

  static func bytes(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(56 - $0 * 8)) } }
}
