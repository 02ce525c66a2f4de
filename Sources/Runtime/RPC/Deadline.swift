#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The moment by which a call must be done, on the machine's monotonic clock.
///
/// It travels as the time that is left (`grpc-timeout`), so that clocks need not agree.
public struct Deadline: Sendable, Hashable, Comparable {
  /// Nanoseconds of `CLOCK_MONOTONIC`.
  public let monotonicNanoseconds: UInt64

  /// A deadline at a reading of `CLOCK_MONOTONIC`.
  @inlinable
  public init(monotonicNanoseconds: UInt64) { self.monotonicNanoseconds = monotonicNanoseconds }

  /// A deadline `duration` from now; already past when it is negative, never when it overflows the clock.
  public static func after(_ duration: Duration) -> Deadline {
    let (seconds, attoseconds) = duration.components
    guard seconds >= 0, attoseconds >= 0 else { return Deadline(monotonicNanoseconds: 0) }
    let (scaled, tooLong) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflow) = clock().addingReportingOverflow(scaled)
    let (total, carried) = sum.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
    return Deadline(monotonicNanoseconds: tooLong || overflow || carried ? .max : total)
  }

  /// A deadline so many nanoseconds from now, at least 0.
  public static func after(nanoseconds: Int64) -> Deadline {
    Deadline(monotonicNanoseconds: clock() + UInt64(clamping: nanoseconds))
  }

  /// The time that is left; zero once it has passed.
  public var timeLeft: Duration {
    let now = Self.clock()
    return now >= monotonicNanoseconds ? .zero : .nanoseconds(Int64(clamping: monotonicNanoseconds - now))
  }

  /// Whether it has passed.
  public var hasPassed: Bool { Self.clock() >= monotonicNanoseconds }

  /// Earlier comes first.
  public static func < (left: Deadline, right: Deadline) -> Bool { left.monotonicNanoseconds < right.monotonicNanoseconds }

  private static func clock() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }
}
