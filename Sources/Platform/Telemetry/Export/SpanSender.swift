internal import EventLoop
internal import Logging
internal import RPC
internal import WellKnown

/// The part of an exporter that lives on a loop: when a batch is due, sending it, and sending it again.
// SAFETY: what changes is touched on the loop only.
final class SpanSender: @unchecked Sendable {
  private let queue: SpanQueue
  private let service: OpenTelemetryProtoCollectorTraceV1.TraceService.Client
  private let resource: [(name: String, value: SpanAttribute)]
  private let loop: EventLoop
  private let settings: SpanExporter.Settings
  private let exported: PrometheusCounter
  private let dropped: PrometheusCounter
  private let log: Logger
  private let timer = LoopTimer()
  private let pauseTimer = LoopTimer()
  private let endTimer = LoopTimer()
  private var sleeper: UnsafeContinuation<Void, Never>?
  private var task: Task<Void, Never>?
  /// When everything must be over.
  private var end: MonotonicInstant?
  private var isFailing = false

  init(
    _ queue: SpanQueue, _ channel: any Channel, _ resource: [(name: String, value: SpanAttribute)], on loop: EventLoop,
    _ settings: SpanExporter.Settings, exported: PrometheusCounter, dropped: PrometheusCounter, _ log: Logger
  ) {
    self.queue = queue
    service = .init(channel)
    self.resource = resource
    self.loop = loop
    self.settings = settings
    self.exported = exported
    self.dropped = dropped
    self.log = log
    timer.onFire = { [unowned self] in send() }
    pauseTimer.onFire = { [unowned self] in resume() }
  }

  /// Has what waits sent, at the latest after `delay`.
  func wake(after delay: Duration) {
    guard loop.isCurrent else {
      loop.execute { self.wake(after: delay) }
      return
    }
    let due = MonotonicInstant.now().advanced(by: delay)
    if !timer.isArmed || due < timer.deadline { loop.arm(timer, at: due) }
  }

  /// Sends all that waits within `limit`.
  func finish(within limit: Duration) async {
    await loop.visit(ifStopped: ()) {
      let end = MonotonicInstant.now().advanced(by: limit)
      self.end = end
      // Whoever pauses has no time left for that.
      resume()
      endTimer.onFire = { [unowned self] in task?.cancel() }
      loop.arm(endTimer, at: end)
      send()
      while let task { await task.value }
      loop.disarm(endTimer)
      loop.disarm(timer)
    }
  }

  // MARK: On the loop

  private func send() {
    guard task == nil else { return }
    let task = loop.spawn { await self.sendAll() }
    // It may be done already.
    if isSending { self.task = task }
  }

  private var isSending = false

  private func sendAll() async {
    isSending = true
    while true {
      let batch = queue.next(settings.batchLimit)
      if batch.isEmpty { break }
      await send(batch)
      if batch.count < settings.batchLimit && end == nil { break }
      if let end, end <= .now() { break }
    }
    isSending = false
    task = nil
    let waiting = queue.count
    if waiting > 0 && end == nil { wake(after: waiting >= settings.batchLimit ? .zero : settings.interval) }
  }

  /// Sends a batch as often as it takes and as it may be.
  private func send(_ batch: [SpanRecord]) async {
    let request = OTLPRequest.make(batch, resource)
    var pause = settings.firstPause
    for attempt in 1... {
      do throws(RPCError) {
        let answer = try await service.export(request, options: .init(deadline: deadline))
        return accepted(batch.count, answer.partialSuccess)
      } catch {
        let isLast = attempt >= settings.attempts || end != nil || Task.isCancelled
        guard !isLast, let asked = Self.pause(after: error) else { return refused(batch.count, error) }
        report(error)
        await sleep(min(max(asked, pause * Double.random(in: 0.8...1.2)), settings.longestPause))
        pause = min(pause * 2, settings.longestPause)
      }
    }
  }

  private var deadline: Deadline {
    let timeout = end.map { min($0.duration(since: .now()), settings.timeout) } ?? settings.timeout
    return .after(max(timeout, .milliseconds(1)))
  }

  /// What the collector asks to wait; nil for what it will not take later either (the OTLP specification's list).
  private static func pause(after error: RPCError) -> Duration? {
    switch error.code {
    case .cancelled, .deadlineExceeded, .aborted, .outOfRange, .unavailable, .dataLoss: error.retryAfter ?? .zero
    // Only with the pause that it asks for.
    case .resourceExhausted: error.retryAfter
    default: nil
    }
  }

  private func accepted(_ count: Int, _ partial: OpenTelemetryProtoCollectorTraceV1.ExportTracePartialSuccess?) {
    let refused = min(Int(clamping: max(partial?.rejectedSpans ?? 0, 0)), count)
    exported.increment(by: Int64(count - refused))
    dropped.increment(by: Int64(refused))
    if refused > 0 {
      log.warning("the collector refused spans", metadata: ["spans": "\(refused)", "reason": "\(partial?.errorMessage ?? "")"])
    }
    if isFailing { log.info("spans are exported again") }
    isFailing = false
  }

  private func refused(_ count: Int, _ error: RPCError) {
    dropped.increment(by: Int64(count))
    report(error)
  }

  /// Once, and not again until it has worked: a collector that is away for a night fills no log.
  private func report(_ error: RPCError) {
    if !isFailing { log.warning("spans cannot be exported", metadata: ["reason": "\(error)"]) }
    isFailing = true
  }

  private func sleep(_ pause: Duration) async {
    guard end == nil else { return }
    await withUnsafeContinuation { continuation in
      sleeper = continuation
      loop.arm(pauseTimer, after: pause)
    }
  }

  private func resume() {
    loop.disarm(pauseTimer)
    sleeper?.resume()
    sleeper = nil
  }
}
