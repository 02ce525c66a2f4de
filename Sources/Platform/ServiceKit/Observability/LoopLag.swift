internal import EventLoop
internal import Telemetry

/// How late each loop is: a timer on it that should fire four times a second, and `parley_loop_lag_seconds{loop}` with how much
/// later it did. What else is to be looked at on the loop itself is looked at then, so that neither a call nor a scrape pays.
///
/// From when it is made until ``stop()``.
final class LoopLag: Sendable {
  // SAFETY: used on the loop only.
  private final class Beat: @unchecked Sendable {
    let loop: EventLoop
    let timer = LoopTimer()
    let lag: PrometheusHistogram
    let look: @Sendable (EventLoop) -> Void
    var due = MonotonicInstant.now()

    init(_ loop: EventLoop, _ lag: PrometheusHistogram, _ look: @escaping @Sendable (EventLoop) -> Void) {
      self.loop = loop
      self.lag = lag
      self.look = look
    }

    func start() {
      timer.onFire = { [unowned self] in fire() }
      due = MonotonicInstant.now().advanced(by: LoopLag.period)
      loop.arm(timer, at: due)
    }

    private func fire() {
      let now = MonotonicInstant.now()
      lag.recordNanoseconds(now.duration(since: due).saturatingNanoseconds)
      look(loop)
      due = now.advanced(by: LoopLag.period)
      loop.arm(timer, at: due)
    }
  }

  private let beats: [Beat]
  private static let period = Duration.milliseconds(250)
  /// From what a timer's rounding to milliseconds makes of an idle loop to what an operator is woken for.
  private static let bounds: [Double] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

  init(_ group: EventLoopGroup, _ registry: PrometheusRegistry, look: @escaping @Sendable (EventLoop) -> Void) {
    beats = group.loops.map { loop in
      let lag = registry.histogram(
        "parley_loop_lag_seconds", help: "How much later than it should a timer of the loop fired.",
        labels: [("loop", loop.name)], bounds: Self.bounds)
      return Beat(loop, lag, look)
    }
    for beat in beats { beat.loop.execute { beat.start() } }
  }

  /// Before the loops end.
  func stop() {
    for beat in beats {
      beat.loop.execute {
        beat.loop.disarm(beat.timer)
        beat.timer.onFire = {}
      }
    }
  }
}
