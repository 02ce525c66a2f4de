internal import CShims

/// The time of day, injected so that tests can choose it.
public struct WallClock: Sendable {
  /// The time since 1970-01-01T00:00:00Z.
  public let now: @Sendable () -> Duration

  /// A clock that answers what `now` answers: the time since 1970-01-01T00:00:00Z.
  public init(now: @escaping @Sendable () -> Duration) { self.now = now }

  /// Whole seconds since 1970-01-01T00:00:00Z.
  public var unixSeconds: Int64 { now().components.seconds }

  /// The machine's clock.
  public static let system = WallClock { .nanoseconds(parley_realtime_nanoseconds()) }
}
