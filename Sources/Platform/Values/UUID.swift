/// A 128-bit identifier (RFC 9562).
public struct UUID: Sendable, Hashable, Comparable, CustomStringConvertible, LosslessStringConvertible {
  /// The first eight bytes, as a number in network order.
  public let high: UInt64
  /// The last eight bytes.
  public let low: UInt64

  /// An identifier from its two halves.
  @inlinable
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// An identifier from sixteen bytes in network order; nil for another number of bytes.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    self.init(
      high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }, low: bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
  }

  /// A new identifier of version 7: the time in milliseconds, the rest of the microsecond clock in the next 12 bits
  /// (section 6.2, method 3), then 62 random bits. Later ones sort after earlier ones.
  public static func v7(
    at time: Instant, using random: inout some RandomNumberGenerator
  ) -> UUID {
    let microseconds = UInt64(max(0, time.microseconds))
    let fraction = (microseconds % 1000) * 4096 / 1000
    return UUID(
      high: (microseconds / 1000) << 16 | 0x7000 | fraction,
      low: random.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000)
  }

  /// Reads the text form, in either case; nil when it is none.
  public init?(_ text: String) {
    var high: UInt64 = 0
    var low: UInt64 = 0
    var digits = 0
    for (index, byte) in text.utf8.enumerated() {
      if index == 8 || index == 13 || index == 18 || index == 23 {
        guard byte == UInt8(ascii: "-") else { return nil }
        continue
      }
      guard digits < 32, let digit = Character(UnicodeScalar(byte)).hexDigitValue else { return nil }
      if digits < 16 { high = high << 4 | UInt64(digit) } else { low = low << 4 | UInt64(digit) }
      digits += 1
    }
    guard digits == 32 else { return nil }
    self.init(high: high, low: low)
  }

  /// The text form, in lower case.
  public var description: String {
    let digits = StaticString("0123456789abcdef").utf8Start
    return String(unsafeUninitializedCapacity: 36) { buffer in
      var place = 0
      for nibble in 0..<32 {
        if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 {
          buffer[place] = UInt8(ascii: "-")
          place += 1
        }
        let word = nibble < 16 ? high : low
        buffer[place] = digits[Int(word >> UInt64(60 - 4 * (nibble & 15)) & 15)]
        place += 1
      }
      return 36
    }
  }

  /// The sixteen bytes, in network order.
  public var bytes: [UInt8] {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { [UInt8]($0) }
  }

  /// The order.
  @inlinable
  public static func < (left: UUID, right: UUID) -> Bool { (left.high, left.low) < (right.high, right.low) }
}
