internal import EventLoop
public import RPC

/// Logs and counts every call: the outermost interceptor, so that it sees what all others decide.
///
/// Metrics are those of gRFC A66, with underscores: `grpc_server_call_started_total{grpc_method}` and the histograms
/// `grpc_server_call_duration_seconds`, `grpc_server_call_sent_total_compressed_message_size_bytes` and
/// `grpc_server_call_rcvd_total_compressed_message_size_bytes`, each `{grpc_method,grpc_status}`. Both in one interceptor,
/// since each costs a call one more frame and one more pair of clock readings.
public struct TelemetryInterceptor: ServerInterceptor {
  private let log: AccessLog?
  private let instruments: CallInstrumentTable

  /// An interceptor for a server with these services.
  ///
  /// - Parameters:
  ///   - services: Whose methods get labels of their own; any other method counts as `other`.
  ///   - metrics: Where calls are counted, or nil.
  ///   - log: Where calls are logged, or nil.
  public init(services: [ServiceDescriptor], metrics: PrometheusRegistry?, log: AccessLog?) {
    self.log = log
    instruments = CallInstrumentTable(services.flatMap(\.methods), registry: metrics)
  }

  /// Serves the call and takes note of how it ended.
  public func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    let instruments = instruments[call.method]
    instruments.started?.increment()
    let start = MonotonicInstant.now()
    do {
      try await next(call)
    } catch {
      finish(call, instruments, since: start, with: error)
      throw error
    }
    finish(call, instruments, since: start, with: nil)
  }

  private func finish(
    _ call: any ServerCall, _ instruments: CallInstruments, since start: MonotonicInstant, with error: (any Error)?
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
    log?.write(call, instruments, status, nanoseconds: nanoseconds)
  }

  private static func status(of error: any Error) -> StatusCode {
    if let error = error as? RPCError { return error.code }
    return error is CancellationError ? .cancelled : .internal
  }
}
