internal import EventLoop
internal import RPC

/// The log and the metrics of calls.
final class CallRecords: ServerCallObserver {
  let log: AccessLog?
  let instruments: CallInstrumentTable

  init(log: AccessLog?, instruments: CallInstrumentTable) {
    self.log = log
    self.instruments = instruments
  }

  func callBegins(_ call: any ServerCall) { instruments[call.method].started?.increment() }

  func callEnds(_ call: any ServerCall, since start: UInt64, _ error: (any Error)?) { finish(call, since: start, error, nil) }

  func callRefused(_ call: any ServerCall, since start: UInt64, _ error: RPCError) {
    callBegins(call)
    finish(call, since: start, error, nil)
  }

  func finish(_ call: any ServerCall, since start: UInt64, _ error: (any Error)?, _ span: Span?) {
    let instruments = instruments[call.method]
    let end = MonotonicInstant.now()
    let nanoseconds = end.nanoseconds &- start
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
