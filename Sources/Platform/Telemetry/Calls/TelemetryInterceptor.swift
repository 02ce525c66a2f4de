internal import EventLoop
public import RPC

/// Logs, counts and traces every call: the outermost interceptor, so that it sees what all others decide.
///
/// Metrics are those of gRFC A66, with underscores: `grpc_server_call_started_total{grpc_method}` and the histograms
/// `grpc_server_call_duration_seconds`, `grpc_server_call_sent_total_compressed_message_size_bytes` and
/// `grpc_server_call_rcvd_total_compressed_message_size_bytes`, each `{grpc_method,grpc_status}`. All in one interceptor,
/// since each costs a call one more frame and one more pair of clock readings. Without a tracer that is active, a call costs
/// nothing for traces.
public struct TelemetryInterceptor: ServerInterceptor {
  private let log: AccessLog?
  private let instruments: CallInstrumentTable
  private let tracer: Tracer?

  /// An interceptor for a server with these services.
  ///
  /// - Parameters:
  ///   - services: Whose methods get labels of their own; any other method counts as `other`.
  ///   - metrics: Where calls are counted, or nil.
  ///   - log: Where calls are logged, or nil.
  ///   - tracer: Who begins a span for each call, or nil.
  public init(
    services: [ServiceDescriptor], metrics: PrometheusRegistry?, log: AccessLog?, tracer: Tracer? = nil
  ) {
    self.log = log
    self.tracer = tracer?.isActive == true ? tracer : nil
    instruments = CallInstrumentTable(services.flatMap(\.methods), registry: metrics)
  }

  /// Serves the call and takes note of how it ended.
  public func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    let instruments = instruments[call.method]
    instruments.started?.increment()
    let start = MonotonicInstant.now()
    if let tracer { return try await trace(call, tracer, instruments, since: start, next) }
    do {
      try await next(call)
    } catch {
      finish(call, instruments, since: start, with: error, nil)
      throw error
    }
    finish(call, instruments, since: start, with: nil, nil)
  }

  /// The same with a span that the handler's own work is a part of.
  private func trace(
    _ call: any ServerCall, _ tracer: Tracer, _ instruments: CallInstruments, since start: MonotonicInstant,
    _ next: MethodRoute.Serve
  ) async throws {
    let span = tracer.serve(instruments.label, remote: Tracer.incoming(call), at: start)
    do {
      try await Span.$current.withValue(span) { try await next(call) }
    } catch {
      finish(call, instruments, since: start, with: error, span)
      throw error
    }
    finish(call, instruments, since: start, with: nil, span)
  }

  private func finish(
    _ call: any ServerCall, _ instruments: CallInstruments, since start: MonotonicInstant, with error: (any Error)?,
    _ span: Span?
  ) {
    let end = MonotonicInstant.now()
    let nanoseconds = end.nanoseconds &- start.nanoseconds
    // A caller whose deadline has passed was told so by the transport, whatever the handler did afterwards.
    let isLate = call.deadline.map { $0.monotonicNanoseconds <= end.nanoseconds } ?? false
    let status = isLate ? .deadlineExceeded : error.map(Self.status) ?? .ok
    if let finished = instruments.finished(status) {
      finished.duration.recordNanoseconds(Int64(clamping: nanoseconds))
      let traffic = call.traffic
      finished.received.record(Int64(traffic.received))
      finished.sent.record(Int64(traffic.sent))
    }
    if let span, span.isRecorded { Self.describe(span, call, status, error, at: end) }
    log?.write(call, instruments, status, nanoseconds: nanoseconds, span)
  }

  private static func status(of error: any Error) -> StatusCode {
    if let error = error as? RPCError { return error.code }
    return error is CancellationError ? .cancelled : .internal
  }

  /// The conventions of OpenTelemetry for RPC servers.
  private static func describe(
    _ span: Span, _ call: any ServerCall, _ status: StatusCode, _ error: (any Error)?, at end: MonotonicInstant
  ) {
    span.putMethod(call.method, system: call.protocolName)
    span.put("rpc.grpc.status_code", .int(Int64(status.rawValue)))
    span.put("network.peer.address", .string(call.peer.address))
    if let port = call.peer.port { span.put("network.peer.port", .int(Int64(port))) }
    // Of a server's failures only those count that are its own.
    switch status {
    case .unknown, .deadlineExceeded, .unimplemented, .internal, .unavailable, .dataLoss:
      span.put("error.type", .string(status.name))
      span.fail((error as? RPCError)?.message ?? status.name)
    default: break
    }
    span.end(at: end)
  }
}

extension Span {
  /// What the conventions of OpenTelemetry say of every RPC.
  func putMethod(_ method: MethodInfo, system: String) {
    put("rpc.system", .string(system.hasPrefix("connect") ? "connect_rpc" : "grpc"))
    put("rpc.service", .string(method.service))
    put("rpc.method", .string(method.name))
  }
}
