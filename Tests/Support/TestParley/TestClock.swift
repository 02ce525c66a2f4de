public import EventLoop
public import ServiceKit
internal import Synchronization

/// The time of day and the monotonic clock, moved by tests.
public final class TestClock: Sendable {
  private struct State {
    var wall: Duration
    var monotonic = MonotonicInstant(nanoseconds: 1_000_000_000_000)
  }

  /// When every test begins, in seconds since 1970.
  public static let start: Int64 = 1_800_000_000

  private let state: Mutex<State>

  /// A clock that stands.
  ///
  /// - Parameter seconds: At which second since 1970.
  public init(at seconds: Int64 = TestClock.start) { state = Mutex(State(wall: .seconds(seconds))) }

  /// The time since 1970.
  public var now: Duration { state.withLock { $0.wall } }
  /// Seconds since 1970.
  public var unixSeconds: Int64 { now.components.seconds }
  /// The monotonic clock.
  public var monotonic: MonotonicInstant { state.withLock { $0.monotonic } }
  /// As services take it.
  public var wall: WallClock { WallClock { self.now } }

  /// Moves both clocks.
  public func advance(by duration: Duration) {
    state.withLock { state in
      state.wall += duration
      state.monotonic = state.monotonic.advanced(by: duration)
    }
  }
}
