internal import EventLoop
internal import Logging
internal import RPCServer
internal import Synchronization
internal import Telemetry

/// Names the handlers that keep loops from going on, in the log and in `parley_loop_stalls_total{handler}`.
///
/// One line when it is found and one when it is over. Of many stalls the first ten of a minute are told; how many were left out
/// stands in the next line. Only registered methods and routes become labels.
struct StallLog: Sendable {
  private let log: Logger
  private let registry: PrometheusRegistry
  private let handler: @Sendable (EventLoop) -> HandlerTrace?
  private let told = Told()

  /// What was told, by loop, and how often in this minute.
  private final class Told: Sendable {
    struct State {
      var handlers: [Int: String] = [:]
      var minute = MonotonicInstant.now()
      var count = 0
      var leftOut = 0

      /// Whether a stall is told: how many before it were not, or nil when it is not either.
      mutating func admit(_ name: String, on index: Int) -> Int? {
        let now = MonotonicInstant.now()
        if now.duration(since: minute) > .seconds(60) {
          minute = now
          count = 0
        }
        guard count < StallLog.linesPerMinute else {
          leftOut += 1
          return nil
        }
        count += 1
        handlers[index] = name
        defer { leftOut = 0 }
        return leftOut
      }
    }

    let state = Mutex(State())
  }

  private static let linesPerMinute = 10

  /// - Parameter handler: Whose handler has a loop, as ``RPCServer/handler(on:)`` says.
  init(_ log: Logger, _ registry: PrometheusRegistry, _ handler: @escaping @Sendable (EventLoop) -> HandlerTrace?) {
    self.log = log
    self.registry = registry
    self.handler = handler
    // Zero is an answer too, and a rule about what never happened yet must find it.
    _ = Self.stalls("unknown", registry)
  }

  private static func stalls(_ handler: String, _ registry: PrometheusRegistry) -> PrometheusCounter {
    registry.counter(
      "parley_loop_stalls_total", help: "Times that a handler kept its loop from everything else for too long.",
      labels: [("handler", handler)])
  }

  /// For ``LoopLiveness``.
  var observer: LoopLiveness.Observer {
    LoopLiveness.Observer(began: { began($0) }, ended: { ended($0) })
  }

  private func began(_ stall: LoopStall) {
    var trace = handler(stall.loop)
    // The loop may have gone on while it was asked: then the answer is about something else.
    if stall.loop.pulse != stall.pulse { trace = nil }
    let isKnown = trace.map { $0.certainty != .last } ?? false
    Self.stalls(isKnown ? trace?.path ?? "unknown" : "unknown", registry).increment()
    let name = trace?.description ?? "a task or callback"
    guard let leftOut = told.state.withLock({ $0.admit(name, on: stall.index) }) else { return }
    var fields = fields(stall, name)
    fields["for_ms"] = "\(stall.milliseconds)"
    if leftOut > 0 { fields["left_out"] = "\(leftOut)" }
    log.warning("a loop does not go on: its handler blocks", metadata: fields)
  }

  private func ended(_ stall: LoopStall) {
    registry.histogram(
      "parley_loop_stall_duration_seconds", help: "How long loops were kept from everything else.", bounds: Self.bounds
    ).recordNanoseconds(Int64(stall.milliseconds) * 1_000_000)
    guard let name = told.state.withLock({ $0.handlers.removeValue(forKey: stall.index) }) else { return }
    var fields = fields(stall, name)
    fields["took_ms"] = "\(stall.milliseconds)"
    log.warning("the loop goes on", metadata: fields)
  }

  private func fields(_ stall: LoopStall, _ name: String) -> Logger.Metadata {
    ["loop": "\(stall.loop.name)", "loop_index": "\(stall.index)", "handler": "\(name)", "phase": "\(stall.pulse.phase)"]
  }

  private static let bounds: [Double] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
}

extension LoopStall {
  fileprivate var milliseconds: Int64 {
    let (seconds, attoseconds) = duration.components
    return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
  }
}
