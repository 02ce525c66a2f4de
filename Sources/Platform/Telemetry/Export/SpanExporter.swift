public import EventLoop
public import Logging
public import RPC
internal import Synchronization

/// Sends spans to a collector: OTLP over gRPC, on one loop, in batches, never at the cost of a call.
///
/// A span waits at most ``Settings/interval`` or until a batch is full. Up to ``Settings/queueLimit`` wait while the collector
/// is slow or away; one more is left out and counted. What the collector may take later is sent again with a growing, jittered
/// pause, or after the pause that it asks for; anything else it refuses is given up and counted.
public final class SpanExporter: SpanSink {
  /// How much waits, and how long.
  public struct Settings: Sendable {
    /// Spans that may wait.
    public var queueLimit = 2_048
    /// Spans in one request.
    public var batchLimit = 512
    /// How long a span waits for others.
    public var interval = Duration.seconds(5)
    /// How long one request may take.
    public var timeout = Duration.seconds(10)
    /// How often a batch is sent at most.
    public var attempts = 5
    /// The pause before a batch is sent again; twice as long each time, at most ``longestPause``.
    public var firstPause = Duration.milliseconds(500)
    /// The longest pause, also where the collector asks for a longer one.
    public var longestPause = Duration.seconds(10)

    /// The defaults.
    public init() {}
  }

  private let queue: SpanQueue
  private let settings: Settings
  private let sender: SpanSender
  private let exported: PrometheusCounter
  private let dropped: PrometheusCounter

  /// An exporter that sends by `channel`, which must not be traced itself.
  ///
  /// - Parameters:
  ///   - channel: The way to the collector.
  ///   - resource: What the spans come from: `service.name` and so on.
  ///   - loop: Where it works; `channel` has a part there.
  ///   - registry: Where it counts `parley_trace_spans_exported_total` and `parley_trace_spans_dropped_total`.
  ///   - settings: How much waits, and how long.
  ///   - log: Who is told of spans that were dropped.
  public init(
    over channel: any Channel, resource: [(name: String, value: SpanAttribute)], on loop: EventLoop,
    registry: PrometheusRegistry, settings: Settings = .init(), log: Logger = Logger(label: "parley.telemetry")
  ) {
    self.settings = settings
    exported = registry.counter("parley_trace_spans_exported_total", help: "Spans that a collector has taken.")
    dropped = registry.counter(
      "parley_trace_spans_dropped_total", help: "Spans that were left out: too many waited, or the collector refused them.")
    queue = SpanQueue(limit: settings.queueLimit)
    sender = SpanSender(queue, channel, resource, on: loop, settings, exported: exported, dropped: dropped, log)
  }

  /// Spans that a collector has taken.
  public var exportedSpans: Int { Int(exported.total) }
  /// Spans that were left out.
  public var droppedSpans: Int { Int(dropped.total) }
  /// Spans that wait.
  public var waitingSpans: Int { queue.count }

  /// Takes a span, or counts it as left out when too many wait.
  public func take(_ span: SpanRecord) {
    guard let count = queue.add(span) else { return dropped.increment() }
    if count == settings.batchLimit {
      sender.wake(after: .zero)
    } else if count == 1 {
      sender.wake(after: settings.interval)
    }
  }

  /// Sends what waits, for at most `limit`; what is left then, and what comes later, is left out. Before the loop ends.
  public func shutDown(within limit: Duration) async {
    await sender.finish(within: limit)
    dropped.increment(by: Int64(queue.close()))
  }
}

/// Spans that wait, up to a limit.
final class SpanQueue: Sendable {
  private struct State {
    var spans: [SpanRecord] = []
    var isClosed = false
  }

  private let state = Mutex(State())
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  var count: Int { state.withLock { $0.spans.count } }

  /// How many wait with this one; nil when there is no room for it.
  func add(_ span: SpanRecord) -> Int? {
    state.withLock { state in
      guard !state.isClosed, state.spans.count < limit else { return nil }
      state.spans.append(span)
      return state.spans.count
    }
  }

  /// Takes out the oldest.
  func next(_ count: Int) -> [SpanRecord] {
    state.withLock { state in
      let batch = Array(state.spans.prefix(count))
      state.spans.removeFirst(batch.count)
      return batch
    }
  }

  /// Takes nothing any more, and forgets what waits.
  ///
  /// - Returns: How many that were.
  func close() -> Int {
    state.withLock { state in
      state.isClosed = true
      defer { state.spans = [] }
      return state.spans.count
    }
  }
}
