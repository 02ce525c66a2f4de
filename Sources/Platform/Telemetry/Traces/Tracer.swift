internal import EventLoop
internal import RPC
internal import Synchronization

/// Begins spans, decides which are recorded, and says what goes along to other processes.
///
/// A trace that comes from another process is recorded if that one says so; of those that begin here, ``ratio`` are. Without
/// a sink nothing is recorded and no span is made: what a caller sent is passed on as it came.
public final class Tracer: Sendable {
  /// Of the traces that begin here, how many are recorded, from 0 to 1.
  public let ratio: Double
  private let sink: (any SpanSink)?
  private let clock: @Sendable () -> UInt64
  private let random: RandomIdentifiers
  /// A trace is recorded when the last 63 bits of its name are below this.
  private let bound: UInt64

  /// A tracer.
  ///
  /// - Parameters:
  ///   - ratio: How many of the traces that begin here are recorded, 0 to 1.
  ///   - sink: Where recorded spans go; nil to record none.
  ///   - clock: Nanoseconds since 1970; the machine's clock unless a test gives its own.
  ///   - seed: What the names of traces and spans begin from; chosen by the system unless a test gives its own.
  public init(
    ratio: Double = 0.01, sink: (any SpanSink)?, clock: (@Sendable () -> UInt64)? = nil, seed: UInt64? = nil
  ) {
    self.ratio = min(max(ratio, 0), 1)
    self.sink = sink
    self.clock = clock ?? { UInt64(TimestampCache.now()) }
    random = RandomIdentifiers(seed: seed ?? UInt64.random(in: .min ... .max))
    bound = self.ratio >= 1 ? 1 << 63 : UInt64(self.ratio * Double(UInt64(1) << 63))
  }

  /// Whether anything is recorded at all.
  public var isActive: Bool { sink != nil }

  /// Begins to serve a request that another process may have sent along with its own place in a trace.
  ///
  /// - Parameters:
  ///   - name: What is asked for, out of a small set of names.
  ///   - remote: The caller's place in a trace, or nil.
  public func serve(_ name: String, remote: SpanContext?) -> Span { serve(name, remote: remote, at: .now()) }

  func serve(_ name: String, remote: SpanContext?, at instant: MonotonicInstant) -> Span {
    begin(name, .server, under: remote, at: instant)
  }

  /// Begins a part of what the current task works for; nil when that is not recorded or there is nothing.
  public func part(_ name: String, _ kind: SpanKind = .internal) -> Span? {
    guard let parent = Span.current, parent.isRecorded else { return nil }
    return begin(name, kind, under: parent.context, at: .now())
  }

  /// Does `body` as a part of what the current task works for, or as the beginning of a trace of its own.
  ///
  /// - Parameters:
  ///   - name: What is done, out of a small set of names.
  ///   - kind: What it is to the work around it.
  ///   - body: What is done, with its span.
  public func span<Result>(
    _ name: String, _ kind: SpanKind = .internal, _ body: (Span) async throws -> Result
  ) async rethrows -> Result {
    let span = begin(name, kind, under: Span.current?.context, at: .now())
    defer { span.end() }
    do {
      return try await Span.$current.withValue(span) { try await body(span) }
    } catch {
      span.fail("\(error)")
      throw error
    }
  }

  /// What goes along with a request that the current task makes: its span, or what its own caller sent.
  public var outgoing: SpanContext? {
    if let span = Span.current { return span.context }
    guard let call = CallContext.current?.call else { return nil }
    return Self.incoming(call)
  }

  /// What a caller sent along.
  static func incoming(_ call: any ServerCall) -> SpanContext? {
    guard let parent = call.metadataText(SpanContext.parentHeader) else { return nil }
    return SpanContext(parent: parent, state: call.metadataText(SpanContext.stateHeader))
  }

  private func begin(_ name: String, _ kind: SpanKind, under parent: SpanContext?, at instant: MonotonicInstant) -> Span {
    // Nobody sees a span of ours: what the caller sent is passed on as it came.
    if sink == nil, let parent { return Span(parent, parent: nil) }
    let traceID = parent?.traceID ?? random.traceID()
    let isSampled = sink != nil && (parent?.isSampled ?? (traceID.low >> 1 < bound))
    let context = SpanContext(traceID: traceID, spanID: random.spanID(), isSampled: isSampled, state: parent?.state ?? "")
    guard isSampled, let sink else { return Span(context, parent: parent) }
    // The start that others have measured already may be a little before now.
    let late = MonotonicInstant.now().nanoseconds &- instant.nanoseconds
    return Span(context, parent: parent, name, kind, start: clock() &- late, at: instant, sink)
  }
}

/// Names that nobody else has: a counter whose steps are mixed well (splitmix64), since a system call for each would cost more
/// than all the rest of a span that is not recorded. They are no secret.
final class RandomIdentifiers: Sendable {
  private let state: Atomic<UInt64>

  init(seed: UInt64) { state = Atomic(seed) }

  func next() -> UInt64 {
    var value = state.wrappingAdd(0x9e37_79b9_7f4a_7c15, ordering: .relaxed).newValue
    value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
    return value ^ value >> 31
  }

  func traceID() -> TraceID {
    while true { if let id = TraceID(high: next(), low: next()) { return id } }
  }

  func spanID() -> SpanID {
    while true { if let id = SpanID(next()) { return id } }
  }
}
