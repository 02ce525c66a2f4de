internal import Glibc

/// A point in time with the resolution of PostgreSQL's `timestamptz`: microseconds, in UTC.
public struct Timestamp: SQLValue, Hashable, Comparable, CustomStringConvertible {
  /// Microseconds since 1970-01-01 00:00 UTC, without leap seconds.
  public var microseconds: Int64

  /// A point in time from microseconds since 1970.
  @inlinable
  public init(microseconds: Int64) { self.microseconds = microseconds }

  /// A point in time from seconds since 1970.
  @inlinable
  public init(seconds: Int64) { microseconds = seconds * 1_000_000 }

  /// The present, by the wall clock.
  public static func now() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return .init(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }

  /// After every other time: PostgreSQL's `infinity`.
  @inlinable public static var distantFuture: Timestamp { .init(microseconds: .max) }
  /// Before every other time: PostgreSQL's `-infinity`.
  @inlinable public static var distantPast: Timestamp { .init(microseconds: .min) }

  /// Whole seconds since 1970, rounded down.
  public var seconds: Int64 { microseconds >= 0 ? microseconds / 1_000_000 : (microseconds - 999_999) / 1_000_000 }
  /// The microseconds beyond ``seconds``: 0 to 999 999.
  public var microsecondOfSecond: Int64 { microseconds - seconds * 1_000_000 }

  /// The time `duration` later, rounded down to a microsecond, saturating at the ends of time.
  public func advanced(by duration: Duration) -> Timestamp {
    let (seconds, attoseconds) = duration.components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    let (sum, carried) = microseconds.addingReportingOverflow(overflow ? (seconds < 0 ? .min : .max) : scaled)
    guard !carried else { return seconds < 0 ? .distantPast : .distantFuture }
    let (total, carriedAgain) = sum.addingReportingOverflow(attoseconds / 1_000_000_000_000)
    return carriedAgain ? (attoseconds < 0 ? .distantPast : .distantFuture) : .init(microseconds: total)
  }

  /// The time from `earlier` to this one.
  public func duration(since earlier: Timestamp) -> Duration { .microseconds(microseconds) - .microseconds(earlier.microseconds) }

  /// The order.
  @inlinable
  public static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

  /// RFC 3339 in UTC with six decimals (`2026-03-01T12:00:00.000000Z`), or `infinity` and `-infinity`.
  public var description: String {
    if self == .distantFuture { return "infinity" }
    if self == .distantPast { return "-infinity" }
    let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    let second = seconds - days * 86_400
    let (year, month, day) = Self.civil(days)
    func pad(_ number: Int64, _ width: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(pad(second / 3600, 2)):\(pad(second / 60 % 60, 2)):"
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

  // MARK: SQL

  /// PostgreSQL counts from 2000-01-01.
  @usableFromInline static var epochOffset: Int64 { 946_684_800_000_000 }

  /// The declared type of the parameter.
  @inlinable public static var sqlType: SQLType { .timestamptz }

  /// Appends the value in the form of the wire protocol.
  @inlinable
  public func encode(into bytes: inout ContiguousArray<UInt8>) {
    let (value, overflow) = microseconds.subtractingReportingOverflow(Self.epochOffset)
    let isInfinite = microseconds == .max || microseconds == .min
    bytes.append(bigEndian: isInfinite ? microseconds : overflow ? .min : value)
  }

  /// Reads the value from a column.
  @inlinable
  public init(sql cell: Cell) throws(DatabaseError) {
    let bytes = try cell.value()
    guard cell.type == .timestamptz || cell.type == .timestamp, bytes.count == 8 else { throw cell.mismatch("a Timestamp") }
    let value = bytes.bigEndian(as: Int64.self)
    let (sum, overflow) = value.addingReportingOverflow(Self.epochOffset)
    microseconds = value == .max || value == .min ? value : overflow ? .max : sum
  }
}
