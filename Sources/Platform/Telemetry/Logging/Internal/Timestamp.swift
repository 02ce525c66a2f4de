internal import Glibc

/// The wall clock in RFC 3339 with milliseconds, in UTC: `2026-11-21T03:20:32.123Z`.
struct TimestampCache {
  private var second = Int.min
  private var text: [UInt8] = []

  /// Appends the time in `nanoseconds` since 1970; reformats only what has changed.
  mutating func append(_ nanoseconds: Int, to line: inout LineWriter) {
    let (second, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000)
    if second != self.second {
      self.second = second
      text = Self.format(second)
    }
    line.append(text)
    line.append(three: UInt64(rest / 1_000_000))
    line.append(UInt8(ascii: "Z"))
  }

  /// The most bytes that a time takes: years have four digits for the next eight thousand of them.
  static let longest = 32

  /// Nanoseconds since 1970.
  static func now() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }

  private static func format(_ second: Int) -> [UInt8] {
    let (days, time) = (second / 86_400, second % 86_400)
    // Civil date from days since 1970, counted from March so that the leap day is a year's last.
    let shifted = days + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    var bytes: [UInt8] = []
    append(yearOfEra + era * 400 + (month <= 2 ? 1 : 0), digits: 4, to: &bytes)
    for (separator, value) in [
      ("-", month), ("-", dayOfYear - (153 * monthFromMarch + 2) / 5 + 1), ("T", time / 3_600), (":", time / 60 % 60),
      (":", time % 60),
    ] as [(Unicode.Scalar, Int)] {
      bytes.append(UInt8(ascii: separator))
      append(value, digits: 2, to: &bytes)
    }
    bytes.append(UInt8(ascii: "."))
    return bytes
  }

  private static func append(_ value: Int, digits: Int, to bytes: inout [UInt8]) {
    var scale = 1
    for _ in 1..<digits { scale *= 10 }
    while scale > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(value / scale % 10))
      scale /= 10
    }
  }
}
