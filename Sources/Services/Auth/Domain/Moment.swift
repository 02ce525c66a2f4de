/// A point in time on the wall clock, to the microsecond.
///
/// The domain has no clock: whoever calls it says what time it is.
public struct Moment: Sendable, Hashable, Comparable {
  /// Microseconds since 1970-01-01T00:00:00Z.
  public let microseconds: Int64

  /// So many microseconds since 1970.
  public init(microseconds: Int64) { self.microseconds = microseconds }

  /// So many seconds since 1970, saturating.
  public init(seconds: Int64) {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    microseconds = overflow ? (seconds < 0 ? .min : .max) : product
  }

  /// Whole seconds since 1970, a fraction cut off towards the past.
  public var seconds: Int64 {
    let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// The moment `duration` later, saturating.
  public func advanced(by duration: Duration) -> Moment {
    let (seconds, attoseconds) = duration.components
    let (scaled, tooLong) = seconds.multipliedReportingOverflow(by: 1_000_000)
    let (delta, carried) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000_000)
    let (sum, overflow) = microseconds.addingReportingOverflow(delta)
    guard !tooLong, !carried, !overflow else { return Moment(microseconds: seconds < 0 ? .min : .max) }
    return Moment(microseconds: sum)
  }

  /// The time from `earlier` to this moment; negative when this one comes first.
  public func duration(since earlier: Moment) -> Duration {
    let (difference, overflow) = microseconds.subtractingReportingOverflow(earlier.microseconds)
    return .microseconds(overflow ? (microseconds < 0 ? .min : .max) : difference)
  }

  /// The first moment of the next day, in UTC.
  public var nextDay: Moment {
    let day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    return Moment(seconds: (day + 1) * 86_400)
  }

  /// Whether `left` comes first.
  public static func < (left: Moment, right: Moment) -> Bool { left.microseconds < right.microseconds }
}
