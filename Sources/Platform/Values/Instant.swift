/// A point in time on the wall clock, in UTC, to the microsecond.
///
/// The same type from a rule to a column: PostgreSQL's `timestamptz` has this resolution and these ends of time. It has no clock of
/// its own: who may ask for the present does so elsewhere, and a domain is told what time it is.
public struct Instant: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Microseconds since 1970-01-01 00:00 UTC, without leap seconds.
  public let microseconds: Int64

  /// A point in time from microseconds since 1970.
  @inlinable
  public init(microseconds: Int64) { self.microseconds = microseconds }

  /// A point in time from seconds since 1970, saturating at the ends of time.
  @inlinable
  public init(seconds: Int64) {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    microseconds = overflow ? (seconds < 0 ? .min : .max) : product
  }

  /// After every other time: PostgreSQL's `infinity`.
  @inlinable public static var distantFuture: Instant { .init(microseconds: .max) }
  /// Before every other time: PostgreSQL's `-infinity`.
  @inlinable public static var distantPast: Instant { .init(microseconds: .min) }

  /// Whole seconds since 1970, rounded down.
  public var seconds: Int64 {
    let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// The microseconds beyond ``seconds``: 0 to 999 999.
  public var microsecondOfSecond: Int64 {
    let remainder = microseconds % 1_000_000
    return remainder < 0 ? remainder + 1_000_000 : remainder
  }

  /// Returns the time `duration` later, a fraction of a microsecond cut off, saturating at the ends of time.
  public func advanced(by duration: Duration) -> Instant {
    let (seconds, attoseconds) = duration.components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    let (sum, carried) = microseconds.addingReportingOverflow(overflow ? (seconds < 0 ? .min : .max) : scaled)
    guard !carried else { return seconds < 0 ? .distantPast : .distantFuture }
    let (total, carriedAgain) = sum.addingReportingOverflow(attoseconds / 1_000_000_000_000)
    return carriedAgain ? (attoseconds < 0 ? .distantPast : .distantFuture) : .init(microseconds: total)
  }

  /// Returns the time from `earlier` to this one; negative when this one comes first.
  public func duration(since earlier: Instant) -> Duration { .microseconds(microseconds) - .microseconds(earlier.microseconds) }

  /// The first instant of the next day, in UTC; the last that there is when that day lies beyond the end of time.
  public var nextDay: Instant { Instant(seconds: (day + 1) * 86_400) }

  /// Days since 1970-01-01, rounded down.
  private var day: Int64 { seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400 }

  /// The order.
  @inlinable
  public static func < (left: Instant, right: Instant) -> Bool { left.microseconds < right.microseconds }

  /// RFC 3339 in UTC with six decimals (`2026-03-01T12:00:00.000000Z`), or `infinity` and `-infinity`.
  public var description: String {
    if self == .distantFuture { return "infinity" }
    if self == .distantPast { return "-infinity" }
    let second = seconds - day * 86_400
    let (year, month, dayOfMonth) = Self.civil(day)
    func pad(_ number: Int64, _ width: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    return "\(pad(year, 4))-\(pad(month, 2))-\(pad(dayOfMonth, 2))T\(pad(second / 3600, 2)):\(pad(second / 60 % 60, 2)):"
      + "\(pad(second % 60, 2)).\(pad(microsecondOfSecond, 6))Z"
  }

  /// The proleptic Gregorian date of a day number since 1970, by counting in eras of 400 years that start on 1 March.
  private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }
}
