internal import EventLoop
public import Logging
internal import RPC

/// One line for each call: time, method, status, milliseconds, peer, the identity in its certificate when it showed one, the request
/// id when somebody named one, the trace when there is one, and what its handlers noted (``CallNotes``).
///
/// The line goes into the loop's buffer as bytes (see ``LogSink/gather(on:)``); what is the same for all calls of a method is
/// prepared once. Calls that end OK in time may be sampled; all others are always written.
public struct AccessLog: Sendable {
  private enum Output {
    case sink(LogSink)
    case logger(Logger)
  }

  private let output: Output
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
    self.init(.sink(sink), oneInOK, slow, clock)
  }

  /// An access log by way of a logger, for a process whose lines somebody else writes; nil when its level is above `info`.
  ///
  /// - Parameters:
  ///   - log: Where the lines go.
  ///   - oneInOK: As with a sink.
  ///   - slow: As with a sink.
  public init?(_ log: Logger, oneInOK: Int = 1, slow: Duration = .seconds(1)) {
    guard log.logLevel <= .info else { return nil }
    self.init(.logger(log), oneInOK, slow, nil)
  }

  private init(_ output: Output, _ oneInOK: Int, _ slow: Duration, _ clock: (@Sendable () -> Int)?) {
    self.output = output
    self.clock = clock ?? { TimestampCache.now() }
    sampling = UInt64(max(1, oneInOK))
    slowNanoseconds = UInt64(max(0, slow.saturatingNanoseconds))
  }

  func write(_ call: any ServerCall, _ instruments: CallInstruments, _ status: StatusCode, nanoseconds: UInt64, _ span: Span?) {
    if status == .ok, sampling > 1, nanoseconds < slowNanoseconds, UInt64.random(in: 0..<sampling) != 0 { return }
    let values = call.values
    let notes = values[CallNotes.Key.self]
    switch output {
    case .sink(let sink): write(call, values, to: sink, instruments, status, nanoseconds, span, notes)
    case .logger(let log): write(call, to: log, status, nanoseconds, notes)
    }
  }

  private func write(
    _ call: any ServerCall, to log: Logger, _ status: StatusCode, _ nanoseconds: UInt64, _ notes: CallNotes?
  ) {
    var fields: Logger.Metadata = [
      "method": .string(call.method.path), "status": .string(status.name),
      "duration_ms": .string("\(Double(nanoseconds / 1_000) / 1_000)"), "peer": .string(call.peer.address),
    ]
    fields["peer_identity"] = call.peer.identity.map { .string($0.name) }
    fields["request_id"] = RequestID.known(of: call).map { .string($0) }
    if let notes { fields.merge(notes.metadata) { first, _ in first } }
    log.log(level: notes?.needsAttention == true ? .error : .info, "call", metadata: fields)
  }

  private func write(
    _ call: any ServerCall, _ values: CallValues, to sink: LogSink, _ instruments: CallInstruments, _ status: StatusCode,
    _ nanoseconds: UInt64,
    _ span: Span?, _ notes: CallNotes?
  ) {
    let now = clock()
    let peer = call.peer
    // Whoever signs certificates for strangers lets them choose the common name.
    let identity = peer.identity
    let commonName = identity == nil ? peer.certificateCommonName.map(Redactor.redact) : nil
    // A caller chooses it: it is held to the same rule as everything else that is logged.
    let id = RequestID.known(of: call, values).map(Redactor.redact)
    let address = peer.address
    let names = (identity?.name.utf8.count ?? 0) + (commonName?.utf8.count ?? 0) + (id?.utf8.count ?? 0)
    let noted = notes?.fields.map { (name: $0.name, value: Redactor.redact($0.value)) }
    let prefix = notes?.needsAttention == true ? instruments.failurePrefix : instruments.linePrefix
    let longest =
      Self.fixedBytes + prefix.count + LineWriter.longest(address.utf8.count + names) + (noted.map(CallNotes.longest) ?? 0)
    sink.timedLine(now) { bytes, time in
      LineWriter.append(to: &bytes, atMost: longest) { line in
        line.append(#"{"time":""#)
        time.append(now, to: &line)
        line.append(prefix)
        line.append(plain: status.name)
        line.append(#"","duration_ms":"#)
        line.append(milliseconds: nanoseconds)
        line.append(#","peer":""#)
        line.append(escaped: address)
        if let identity {
          line.append(#"","peer_identity":""#)
          line.append(escaped: identity.name)
        } else if let commonName {
          line.append(#"","peer_common_name":""#)
          line.append(escaped: commonName)
        }
        if let id {
          line.append(#"","request_id":""#)
          line.append(escaped: id)
        }
        if let span {
          line.append(#"","trace_id":""#)
          line.append(plain: span.context.traceID.description)
          line.append(#"","span_id":""#)
          line.append(plain: span.context.spanID.description)
        }
        if let noted {
          for (name, value) in noted {
            line.append(#"",""#)
            line.append(name)
            line.append(#"":""#)
            line.append(escaped: value)
          }
        }
        line.append("\"}\n")
      }
    }
  }

  /// Everything in a line but the method and the texts that others choose: names, time, status, milliseconds, trace.
  private static let fixedBytes = 384
}
