internal import CShims
public import EventLoop

/// The time of day, and the clock by which things age; injected so that tests can choose them.
public struct WallClock: Sendable {
  /// The time since 1970-01-01T00:00:00Z.
  public let now: @Sendable () -> Duration
  /// What is never set back: how old a thing that was fetched is.
  public let monotonic: @Sendable () -> MonotonicInstant

  /// A clock that answers what these answer.
  ///
  /// - Parameters:
  ///   - now: The time since 1970-01-01T00:00:00Z.
  ///   - monotonic: The monotonic clock; the machine's, unless a test moves its own.
  public init(
    now: @escaping @Sendable () -> Duration, monotonic: @escaping @Sendable () -> MonotonicInstant = { .now() }
  ) {
    self.init(isSystem: false, now: now, monotonic: monotonic)
  }

  /// Whole seconds since 1970-01-01T00:00:00Z. Asked for in every call with a session, so the machine's clock counts them itself.
  public var unixSeconds: Int64 { isSystem ? parley_realtime_nanoseconds() / 1_000_000_000 : now().components.seconds }

  /// Whether it is the machine's.
  let isSystem: Bool

  /// The machine's clock.
  public static let system = WallClock(
    isSystem: true, now: { .nanoseconds(parley_realtime_nanoseconds()) }, monotonic: { .now() })

  private init(isSystem: Bool, now: @escaping @Sendable () -> Duration, monotonic: @escaping @Sendable () -> MonotonicInstant) {
    (self.isSystem, self.now, self.monotonic) = (isSystem, now, monotonic)
  }
}
