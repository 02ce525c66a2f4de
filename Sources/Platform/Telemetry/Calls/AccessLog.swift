internal import EventLoop
public import Logging
internal import RPC

/// One line for each call: time, method, status, milliseconds, peer, the identity in its certificate when it showed one, the request
/// id when somebody named one, and the trace when there is one.
///
/// The line goes into the loop's buffer as bytes (see ``LogSink/gather(on:)``); what is the same for all calls of a method is
/// prepared once. Calls that end OK in time may be sampled; all others are always written.
public struct AccessLog: Sendable {
  let sink: LogSink
  let sampling: UInt64
  let slowNanoseconds: UInt64
  let clock: @Sendable () -> Int

  /// An access log, or nil when `level` is above `info`.
  ///
  /// - Parameters:
  ///   - sink: Where the lines go.
  ///   - level: The level of the process's log.
  ///   - oneInOK: Of so many calls that end OK and are not slow, one is written; 1 for all.
  ///   - slow: A call that took so long is written whatever the sampling.
  ///   - clock: Nanoseconds since 1970; the machine's clock unless a test gives its own.
  public init?(
    _ sink: LogSink, level: Logger.Level = .info, oneInOK: Int = 1, slow: Duration = .seconds(1),
    clock: (@Sendable () -> Int)? = nil
  ) {
    guard level <= .info else { return nil }
    self.sink = sink
    self.clock = clock ?? { TimestampCache.now() }
    sampling = UInt64(max(1, oneInOK))
    slowNanoseconds = UInt64(max(0, slow.saturatingNanoseconds))
  }

  func write(_ call: any ServerCall, _ instruments: CallInstruments, _ status: StatusCode, nanoseconds: UInt64, _ span: Span?) {
    if status == .ok, sampling > 1, nanoseconds < slowNanoseconds, UInt64.random(in: 0..<sampling) != 0 { return }
    let now = clock()
    sink.timedLine(now) { bytes, time in
      JSONBytes.append(#"{"time":""#, to: &bytes)
      time.append(now, to: &bytes)
      bytes.append(contentsOf: instruments.linePrefix)
      bytes.append(contentsOf: status.name.utf8)
      JSONBytes.append(#"","duration_ms":"#, to: &bytes)
      JSONBytes.appendMilliseconds(nanoseconds, to: &bytes)
      JSONBytes.append(#","peer":""#, to: &bytes)
      let peer = call.peer
      JSONBytes.appendEscaped(peer.address, to: &bytes)
      if let identity = peer.identity {
        JSONBytes.append(#"","peer_identity":""#, to: &bytes)
        JSONBytes.appendEscaped(identity.name, to: &bytes)
      } else if let name = peer.certificateCommonName {
        // Whoever signs certificates for strangers lets them choose it.
        JSONBytes.append(#"","peer_common_name":""#, to: &bytes)
        JSONBytes.appendEscaped(Redactor.redact(name), to: &bytes)
      }
      if let id = RequestID.known(of: call) {
        JSONBytes.append(#"","request_id":""#, to: &bytes)
        // A caller chooses it: it is held to the same rule as everything else that is logged.
        JSONBytes.appendEscaped(Redactor.redact(id), to: &bytes)
      }
      if let span {
        JSONBytes.append(#"","trace_id":""#, to: &bytes)
        bytes.append(contentsOf: span.context.traceID.description.utf8)
        JSONBytes.append(#"","span_id":""#, to: &bytes)
        bytes.append(contentsOf: span.context.spanID.description.utf8)
      }
      JSONBytes.append("\"}\n", to: &bytes)
    }
  }
}
