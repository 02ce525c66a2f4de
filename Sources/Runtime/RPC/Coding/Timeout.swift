/// The value of `grpc-timeout`: up to eight digits and a unit.
public enum Timeout {
  /// Reads a timeout.
  ///
  /// - Returns: The duration, or nil when the text is malformed: no digits, more than eight, or no known unit.
  public static func decode(_ bytes: UnsafeRawBufferPointer) -> Duration? {
    guard let (value, unit) = parse(bytes) else { return nil }
    return unit >= second ? .seconds(value * (unit / second)) : .nanoseconds(value * unit)
  }

  /// Reads a timeout as nanoseconds, which costs a tenth of making a duration; what they cannot count (292 years) is the most
  /// that they can.
  public static func decodeNanoseconds(_ bytes: UnsafeRawBufferPointer) -> Int64? {
    guard let (value, unit) = parse(bytes) else { return nil }
    let (nanoseconds, isTooLong) = value.multipliedReportingOverflow(by: unit)
    return isTooLong ? .max : nanoseconds
  }

  private static var second: Int64 { 1_000_000_000 }

  /// The number, and the nanoseconds in a unit of it.
  private static func parse(_ bytes: UnsafeRawBufferPointer) -> (value: Int64, unit: Int64)? {
    guard bytes.count >= 2, bytes.count <= 9 else { return nil }
    var value: Int64 = 0
    for byte in bytes.dropLast() {
      guard byte >= 0x30, byte <= 0x39 else { return nil }
      value = value * 10 + Int64(byte - 0x30)
    }
    switch bytes[bytes.count - 1] {
    case UInt8(ascii: "H"): return (value, 3_600 * second)
    case UInt8(ascii: "M"): return (value, 60 * second)
    case UInt8(ascii: "S"): return (value, second)
    case UInt8(ascii: "m"): return (value, 1_000_000)
    case UInt8(ascii: "u"): return (value, 1_000)
    case UInt8(ascii: "n"): return (value, 1)
    default: return nil
    }
  }

  /// Writes a timeout in the finest unit that eight digits can hold, rounded up so that the server never gives up first.
  public static func encode(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    guard seconds >= 0, attoseconds >= 0 else { return "0n" }
    // Beyond what nanoseconds can count only whole hours matter.
    guard seconds < 9_000_000_000 else { return "\(min(seconds / 3_600 + (seconds % 3_600 == 0 ? 0 : 1), 99_999_999))H" }
    let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000 + (attoseconds % 1_000_000_000 == 0 ? 0 : 1)
    let units: [(Character, Int64)] = [
      ("n", 1), ("u", 1_000), ("m", 1_000_000), ("S", 1_000_000_000), ("M", 60_000_000_000), ("H", 3_600_000_000_000),
    ]
    for (unit, scale) in units {
      let value = nanoseconds / scale + (nanoseconds % scale == 0 ? 0 : 1)
      if value <= 99_999_999 { return "\(value)\(unit)" }
    }
    return "99999999H"
  }
}
