internal import EventLoop
public import RPC

/// Logs, counts and traces every call: the outermost interceptor, so that it sees what all others decide.
///
/// Metrics are those of gRFC A66, with underscores: `grpc_server_call_started_total{grpc_method}` and the histograms
/// `grpc_server_call_duration_seconds`, `grpc_server_call_sent_total_compressed_message_size_bytes` and
/// `grpc_server_call_rcvd_total_compressed_message_size_bytes`, each `{grpc_method,grpc_status}`. All in one interceptor,
/// since each costs a call one more frame and one more pair of clock readings. Without a tracer that is active, a call costs
/// nothing for traces.
///
/// A server that has no tracer to ask takes its ``observer`` instead, which does the same without a frame around each call.
public struct TelemetryInterceptor: ServerInterceptor {
  private let calls: CallRecords
  private let tracer: Tracer?

  /// What logs and counts; nil with a tracer, whose spans each call's task has to know.
  public var observer: (any ServerCallObserver)? { tracer == nil ? calls : nil }
  /// What logs and counts calls that no handler sees; they have no span.
  public var refusalObserver: (any ServerCallObserver)? { calls }

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
    self.tracer = tracer?.isActive == true ? tracer : nil
    calls = CallRecords(log: log, instruments: CallInstrumentTable(services.flatMap(\.methods), registry: metrics))
  }

  /// Serves the call and takes note of how it ended.
  public func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    let start = MonotonicInstant.now()
    calls.callBegins(call)
    if let tracer { return try await trace(call, tracer, since: start, next) }
    do {
      try await next(call)
    } catch {
      calls.callEnds(call, since: start.nanoseconds, error)
      throw error
    }
    calls.callEnds(call, since: start.nanoseconds, nil)
  }

  /// The same with a span that the handler's own work is a part of.
  private func trace(
    _ call: any ServerCall, _ tracer: Tracer, since start: MonotonicInstant, _ next: MethodRoute.Serve
  ) async throws {
    let span = tracer.serve(calls.instruments[call.method].label, remote: Tracer.incoming(call), at: start)
    do {
      try await Span.$current.withValue(span) { try await next(call) }
    } catch {
      calls.finish(call, since: start.nanoseconds, error, span)
      throw error
    }
    calls.finish(call, since: start.nanoseconds, nil, span)
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
