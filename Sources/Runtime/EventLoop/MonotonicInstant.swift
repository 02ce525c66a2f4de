internal import CShims

/// A point on the machine's monotonic clock, which no change of the wall clock moves.
///
/// Deadlines and timers are measured on it. It is meaningless in another process.
public struct MonotonicInstant: Sendable, Hashable, Comparable {
  /// Nanoseconds of `CLOCK_MONOTONIC`.
  public var nanoseconds: UInt64

  /// Wraps a reading of `CLOCK_MONOTONIC`, in nanoseconds.
  @inlinable
  public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// The present moment, read from the clock.
  public static func now() -> MonotonicInstant { .init(nanoseconds: parley_monotonic_nanoseconds()) }

  /// The end of time: a deadline that never comes.
  public static let distantFuture = MonotonicInstant(nanoseconds: .max)

  /// Earlier comes first.
  @inlinable
  public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool { left.nanoseconds < right.nanoseconds }

  /// The instant `duration` later, saturating at both ends of the clock.
  public func advanced(by duration: Duration) -> MonotonicInstant {
    let delta = duration.saturatingNanoseconds
    if delta >= 0 {
      let (sum, overflow) = nanoseconds.addingReportingOverflow(UInt64(delta))
      return .init(nanoseconds: overflow ? .max : sum)
    }
    let (difference, overflow) = nanoseconds.subtractingReportingOverflow(delta.magnitude)
    return .init(nanoseconds: overflow ? 0 : difference)
  }

  /// The time from `earlier` to this instant; negative when this one comes first.
  public func duration(since earlier: MonotonicInstant) -> Duration {
    self >= earlier
      ? .nanoseconds(Int64(clamping: nanoseconds - earlier.nanoseconds))
      : .nanoseconds(-Int64(clamping: earlier.nanoseconds - nanoseconds))
  }
}

extension Duration {
  /// The whole duration in nanoseconds, clamped to what an `Int64` holds (292 years).
  public var saturatingNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    let (sum, carried) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
    return carried ? (seconds < 0 ? .min : .max) : sum
  }
}
