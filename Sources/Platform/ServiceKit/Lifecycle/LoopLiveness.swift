public import EventLoop
internal import Synchronization

/// Whether every loop still turns: each leaves the time on its own clock four times a second.
///
/// It watches from when it is made until ``stop()``.
public final class LoopLiveness {
  // SAFETY: the timer is used on the loop only; the time is atomic.
  private final class Beat: @unchecked Sendable {
    let loop: EventLoop
    let timer = LoopTimer()
    let last = Atomic<UInt64>(MonotonicInstant.now().nanoseconds)
    init(_ loop: EventLoop) { self.loop = loop }
  }

  private let beats: [Beat]
  private static let period = Duration.milliseconds(250)

  /// Begins to watch.
  public init(_ group: EventLoopGroup) {
    beats = group.loops.map(Beat.init)
    for beat in beats {
      beat.loop.execute {
        beat.timer.onFire = {
          beat.last.store(MonotonicInstant.now().nanoseconds, ordering: .relaxed)
          beat.loop.arm(beat.timer, after: Self.period)
        }
        beat.timer.onFire()
      }
    }
  }

  /// The names of the loops that have not turned for longer than `limit`.
  public func stalled(for limit: Duration) -> [String] {
    let now = MonotonicInstant.now()
    return beats.filter { now.duration(since: .init(nanoseconds: $0.last.load(ordering: .relaxed))) > limit }.map(\.loop.name)
  }

  /// Stops watching. Before the loops end.
  public func stop() {
    for beat in beats {
      beat.loop.execute {
        beat.loop.disarm(beat.timer)
        beat.timer.onFire = {}
      }
    }
  }
}

// SAFETY: timers are used on their loops only; the beats are atomic.
extension LoopLiveness: @unchecked Sendable {}
