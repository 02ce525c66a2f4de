internal import Glibc
public import Values

// `Values` is pure: the clock and the generator of random numbers are the process's, and no rule may ask them.

extension Instant {
  /// The present, by the wall clock.
  public static func now() -> Instant {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return .init(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }
}

extension UUID {
  /// A new identifier of version 7, random by the system's generator.
  public static func v7(at time: Instant = .now()) -> UUID {
    var random = SystemRandomNumberGenerator()
    return v7(at: time, using: &random)
  }
}
