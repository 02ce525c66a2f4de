internal import EventLoop
public import RPC
internal import Synchronization

/// Counts and traces the calls of a channel, and sends the trace along: its ``RPC/ClientCallObserver``.
///
/// Metrics are those of gRFC A66, with underscores: `grpc_client_attempt_started_total{grpc_method,grpc_target}` and the
/// histograms `grpc_client_attempt_duration_seconds`, `grpc_client_attempt_sent_total_compressed_message_size_bytes`,
/// `grpc_client_attempt_rcvd_total_compressed_message_size_bytes` and `grpc_client_call_duration_seconds`, each
/// `{grpc_method,grpc_target,grpc_status}`. Each attempt is a span of its own, so that a retry can be seen.
public struct ClientTelemetry: ClientCallObserver {
  private let tracer: Tracer?
  private let registry: PrometheusRegistry?
  private let tables: ClientInstrumentTables

  /// An observer for channels to these services.
  ///
  /// - Parameters:
  ///   - services: Whose methods get labels of their own; any other method counts as `other`.
  ///   - metrics: Where calls are counted, or nil.
  ///   - tracer: Who begins spans and knows what goes along with a call, or nil.
  public init(services: [ServiceDescriptor], metrics: PrometheusRegistry?, tracer: Tracer?) {
    self.tracer = tracer
    registry = metrics
    tables = ClientInstrumentTables(Set(services.flatMap(\.methods).map(\.path)), metrics)
  }

  /// Begins to observe a call.
  public func callBegins(_ method: MethodInfo, target: String) -> (any ClientCallObservation)? {
    ObservedClientCall(method, target, tables[method, target], tracer)
  }
}

/// The instruments of all methods and targets that were called, made at the first call of each.
private final class ClientInstrumentTables: Sendable {
  private struct Key: Hashable {
    let method: ObjectIdentifier
    let target: String
  }

  private let known: Set<String>
  private let registry: PrometheusRegistry?
  private let made = Mutex<[Key: ClientInstruments]>([:])
  /// A channel has one target and a program a handful of channels: beyond this something is wrong, and nothing is kept.
  private static let limit = 4_096

  init(_ known: Set<String>, _ registry: PrometheusRegistry?) {
    self.known = known
    self.registry = registry
  }

  subscript(method: MethodInfo, target: String) -> ClientInstruments? {
    guard let registry else { return nil }
    let key = Key(method: ObjectIdentifier(method), target: target)
    return made.withLock { made in
      if let instruments = made[key] { return instruments }
      let label = known.contains(method.path) ? String(method.path.dropFirst()) : "other"
      let instruments = ClientInstruments(registry, method: label, target: target)
      if made.count < Self.limit { made[key] = instruments }
      return instruments
    }
  }
}

/// What is kept ready for one method of one target.
final class ClientInstruments: Sendable {
  final class Finished: Sendable {
    let attempt: PrometheusHistogram
    let sent: PrometheusHistogram
    let received: PrometheusHistogram
    let call: PrometheusHistogram

    init(_ registry: PrometheusRegistry, _ labels: [(String, String)]) {
      attempt = registry.histogram(
        "grpc_client_attempt_duration_seconds", help: "Time from an attempt's headers to its status.", labels: labels)
      sent = registry.histogram(
        "grpc_client_attempt_sent_total_compressed_message_size_bytes", help: "Bytes of request messages in one attempt.",
        labels: labels, bounds: PrometheusHistogram.sizes)
      received = registry.histogram(
        "grpc_client_attempt_rcvd_total_compressed_message_size_bytes", help: "Bytes of response messages in one attempt.",
        labels: labels, bounds: PrometheusHistogram.sizes)
      call = registry.histogram(
        "grpc_client_call_duration_seconds", help: "Time of a call with all its attempts and the waits between.",
        labels: labels)
    }
  }

  let started: PrometheusCounter
  private let registry: PrometheusRegistry
  private let labels: [(String, String)]
  private let finished = Mutex<[StatusCode: Finished]>([:])

  init(_ registry: PrometheusRegistry, method: String, target: String) {
    self.registry = registry
    labels = [("grpc_method", method), ("grpc_target", target)]
    started = registry.counter("grpc_client_attempt_started_total", help: "Attempts begun.", labels: labels)
  }

  func finished(_ status: StatusCode) -> Finished {
    finished.withLock { finished in
      if let known = finished[status] { return known }
      let made = Finished(registry, labels + [("grpc_status", status.name)])
      finished[status] = made
      return made
    }
  }
}

/// One call under observation. A call whose end is told twice has ended once.
// SAFETY: used on the loop of its call only.
private final class ObservedClientCall: ClientCallObservation, @unchecked Sendable {
  private let method: MethodInfo
  private let target: String
  private let instruments: ClientInstruments?
  private let tracer: Tracer?
  /// What the task that makes the call works for; later attempts may be begun by another task.
  private let parent: Span?
  private let inherited: SpanContext?
  private let start = MonotonicInstant.now()
  private var attemptStart = MonotonicInstant.now()
  private var span: Span?
  private var hasEnded = false

  init(_ method: MethodInfo, _ target: String, _ instruments: ClientInstruments?, _ tracer: Tracer?) {
    self.method = method
    self.target = target
    self.instruments = instruments
    self.tracer = tracer
    parent = tracer == nil ? nil : Span.current
    inherited = tracer?.outgoing
  }

  func attemptBegins(previousAttempts: Int, metadata: inout Metadata) {
    instruments?.started.increment()
    attemptStart = .now()
    guard let tracer else { return }
    span = Span.$current.withValue(parent) { tracer.part("\(method.service)/\(method.name)", .client) }
    if let span {
      span.putMethod(method, system: "grpc")
      span.put("server.address", .string(target))
      if previousAttempts > 0 { span.put("rpc.grpc.previous_attempts", .int(Int64(previousAttempts))) }
    }
    guard let context = span?.context ?? inherited else { return }
    metadata["traceparent"] = context.parent
    guard !context.state.isEmpty else { return }
    metadata["tracestate"] = context.state
  }

  func attemptEnds(_ error: RPCError?, traffic: CallTraffic, peer: Peer?) {
    let status = error?.code ?? .ok
    if let finished = instruments?.finished(status) {
      finished.attempt.recordNanoseconds(Self.nanoseconds(since: attemptStart))
      finished.sent.record(Int64(traffic.sent))
      finished.received.record(Int64(traffic.received))
    }
    guard let span else { return }
    span.put("rpc.grpc.status_code", .int(Int64(status.rawValue)))
    if let peer {
      span.put("network.peer.address", .string(peer.address))
      if let port = peer.port { span.put("network.peer.port", .int(Int64(port))) }
    }
    if let error {
      span.put("error.type", .string(status.name))
      span.fail(error.message)
    }
    span.end()
    self.span = nil
  }

  func callEnds(_ error: RPCError?) {
    guard !hasEnded else { return }
    hasEnded = true
    instruments?.finished(error?.code ?? .ok).call.recordNanoseconds(Self.nanoseconds(since: start))
  }

  private static func nanoseconds(since start: MonotonicInstant) -> Int64 {
    MonotonicInstant.now().duration(since: start).saturatingNanoseconds
  }
}
