internal import Buffers
internal import EventLoop
internal import Glibc
internal import HTTP2
internal import MessagesCore
internal import MessagesWire
internal import RPC
internal import RPCWire

/// One gRPC call on one HTTP/2 stream, from its headers to its status.
///
/// A unary call is dispatched inside nghttp2's callback as soon as its request is whole: a handler that never suspends has
/// answered before the callback returns. Reused with its stream, unless somebody still holds it.
// SAFETY: used on its loop only; handlers run there too, since their task prefers it.
final class GRPCServerCall: ServerCall, HTTP2StreamHandler, @unchecked Sendable {
  let server: ServerLoop
  /// Gone as soon as the stream is closed, even if the handler still runs.
  var stream: HTTP2Stream?
  var route: MethodRoute?
  var storedMetadata: Metadata?
  var storedPeer: Peer?
  private(set) var deadline: Deadline?
  var initialMetadata = Metadata()
  var trailingMetadata = Metadata()
  var values = CallValues()
  private(set) var traffic = CallTraffic()
  private(set) var requestWasCompressed = false
  var responseCompression = MessageCompression.identity

  var hasSentHeaders = false
  var hasResponse = false
  private var isRunning = false
  /// The status has been decided: what the handler still does is of no consequence.
  private(set) var isAnswered = false
  private var hasPassedDeadline = false
  private var task: Task<Void, Never>?
  private let deadlineTimer = LoopTimer()
  var receivers: [UnsafeContinuation<Void, Never>] = []
  var writers: [UnsafeContinuation<Void, Never>] = []

  init(on server: ServerLoop) {
    self.server = server
    deadlineTimer.onFire = { [unowned self] in deadlinePassed() }
  }

  /// Whether nobody but its stream uses it any more.
  var isReusable: Bool { !isRunning && stream == nil }

  func open(_ stream: HTTP2Stream) {
    self.stream = stream
    route = nil
    storedMetadata = nil
    storedPeer = nil
    deadline = nil
    if !initialMetadata.isEmpty { initialMetadata = Metadata() }
    if !trailingMetadata.isEmpty { trailingMetadata = Metadata() }
    if !values.isEmpty { values = CallValues() }
    traffic = CallTraffic()
    hasSentHeaders = false
    hasResponse = false
    isAnswered = false
    hasPassedDeadline = false
  }

  // MARK: The stream's events

  func streamReceivedHeaders(_ stream: HTTP2Stream) {
    // A second header block is the request's trailers, which gRPC does not use.
    guard stream.trailers == nil else { return }
    switch ServerRequestKind(stream.headers, server) {
    case .rpc(let route):
      self.route = route
      let problem = readHeaders(stream.headers)
      if let problem { return refuse(problem) }
      // Also before the request is whole: it may never become so.
      if deadline != nil { server.bound(self) }
      if route.method.kind != .unary { start() }
    case .http(let handler):
      let call = HTTPServerCall(on: server, handler)
      stream.handler = call
      self.stream = nil
      call.open(stream)
    case .refusedRPC(let error):
      refuse(error)
    }
  }

  func streamReceivedData(_ stream: HTTP2Stream) {
    guard !isAnswered else { return discardInput() }
    guard receivers.isEmpty else { return wake(&receivers) }
    guard route?.method.kind == .unary else { return }
    switch GRPCFrame.parse(stream.inbound.bytes, maximumBytes: server.configuration.maximumRequestBytes) {
    case .tooLarge(let size): refuse(.messageTooLarge(size, limit: server.configuration.maximumRequestBytes))
    case .incomplete(let total):
      // The whole message is needed before anything can happen, and it is bounded: the window may open at once.
      if stream.unopenedBytes >= 64 << 10 {
        stream.inbound.reserve(total)
        stream.openWindow(stream.unopenedBytes)
      }
    case .complete(let frame) where frame.end < stream.inbound.count:
      // Now, since the rest of it may wait for a window that will not open.
      refuse(RPCError(.unimplemented, "the call has more than one request message"))
    case .complete, .empty: break
    }
  }

  func streamReceivedEnd(_ stream: HTTP2Stream) {
    guard !isAnswered else { return }
    guard receivers.isEmpty else { return wake(&receivers) }
    if route?.method.kind == .unary { start() }
  }

  func streamDrained(_ stream: HTTP2Stream) {
    wake(&writers)
  }

  func streamClosed(_ stream: HTTP2Stream, _ error: HTTP2ErrorCode) {
    guard isRunning else {
      self.stream = nil
      stopClock()
      return
    }
    // Who still runs may still ask: what it could ask for goes with the stream.
    _ = metadata
    _ = peer
    self.stream = nil
    isAnswered = true
    stopClock()
    task?.cancel()
    wakeWaiters()
  }

  private func discardInput() { stream.map { $0.consume($0.inbound.count) } }

  func wakeWaiters() {
    wake(&receivers)
    wake(&writers)
  }

  private func wake(_ waiting: inout [UnsafeContinuation<Void, Never>]) {
    for continuation in waiting { continuation.resume() }
    waiting.removeAll(keepingCapacity: true)
  }

  /// Arms the deadline of a call that outlives the tick in which it began; most do not.
  func startClock() {
    guard stream != nil, !isAnswered, let deadline else { return }
    server.loop.arm(deadlineTimer, at: MonotonicInstant(nanoseconds: deadline.monotonicNanoseconds))
  }

  private func stopClock() { if deadline != nil { server.loop.disarm(deadlineTimer) } }

  // MARK: Running

  private func readHeaders(_ headers: HeaderBlock) -> RPCError? {
    if let encoding = headers.value(.encoding), !encoding.elementsEqual("identity".utf8) {
      return .unsupportedEncoding(String(decoding: encoding, as: UTF8.self))
    }
    if let timeout = headers.value(.timeout) {
      guard let duration = Timeout.decode(timeout) else {
        return RPCError(.invalidArgument, "grpc-timeout is malformed")
      }
      deadline = .after(min(duration, server.configuration.maximumCallDuration ?? duration))
    } else if let bound = server.configuration.maximumCallDuration, method.kind == .unary {
      deadline = .after(bound)
    }
    return nil
  }

  /// Runs the handler; it may be done when this returns.
  private func start() {
    guard server.runningHandlers < server.configuration.maximumRunningHandlersPerLoop else { return refuse(.overloaded) }
    isRunning = true
    server.runningHandlers += 1
    // One async frame instead of two: each costs the runtime a look-up of the executor, and this is the hot path.
    let task = Task.immediate(executorPreference: server.loop) {
      do {
        if self.deadline?.hasPassed == true { throw RPCError.deadlineExceeded }
        try await CallContext.$current.withValue(CallContext(self)) { try await self.route.unsafelyUnwrapped.serve(self) }
        self.ended(nil)
      } catch {
        self.ended(error)
      }
    }
    if isRunning { self.task = task }
  }

  private func ended(_ error: (any Error)?) {
    isRunning = false
    server.runningHandlers -= 1
    task = nil
    stopClock()
    guard !isAnswered else { return }
    if let error {
      fail(rpcError(error))
    } else if !hasResponse && route.unsafelyUnwrapped.method.kind != .serverStreaming
      && route.unsafelyUnwrapped.method.kind != .bidirectional
    {
      fail(RPCError(.internal, "the handler returned without a response"))
    } else {
      succeed()
    }
  }

  /// What the caller is told of an error: as much as it was meant to know.
  private func rpcError(_ error: any Error) -> RPCError {
    if hasPassedDeadline { return .deadlineExceeded }
    if let error = error as? RPCError { return error }
    if error is CancellationError { return RPCError(.cancelled, "the call was cancelled") }
    let incident = IncidentID.make()
    server.events.unexpectedError(CallContext(self), error, incident)
    return RPCError(
      .internal, "internal error, incident \(incident)",
      details: [.errorInfo(reason: "INTERNAL", domain: "parley", metadata: ["incident": incident])])
  }

  /// The caller is told at once; the handler learns it as cancellation and what it still returns is dropped.
  private func deadlinePassed() {
    hasPassedDeadline = true
    if hasSentHeaders, let stream, !stream.outbound.isEmpty {
      // A status would wait behind messages that the caller does not read.
      isAnswered = true
      stream.reset(.cancel)
    } else {
      fail(.deadlineExceeded)
    }
    guard isRunning else { return discardInput() }
    task?.cancel()
    wakeWaiters()
  }

  // MARK: The answer

  private func refuse(_ error: RPCError) {
    stopClock()
    fail(error)
    // The rest of a refused request is of no interest, and must not fill the window.
    discardInput()
  }

  private func succeed() {
    isAnswered = true
    guard let stream else { return }
    sendHeaders(stream)
    stream.finish(trailers: trailingMetadata.isEmpty ? HeaderLists.grpcOK : GRPCHeaders.trailers(ok: trailingMetadata))
  }

  private func fail(_ error: RPCError) {
    isAnswered = true
    guard let stream else { return }
    var trailing = trailingMetadata
    trailing.append(contentsOf: error.metadata)
    let trailers = GRPCHeaders.trailers(error, trailing, encoder: server.encoder)
    if hasSentHeaders {
      stream.finish(trailers: trailers)
    } else {
      stream.outbound.reset()
      stream.respond(GRPCHeaders.trailersOnly(initialMetadata, trailers), endsStream: true)
    }
  }

  func sendHeaders(_ stream: HTTP2Stream) {
    guard !hasSentHeaders else { return }
    hasSentHeaders = true
    stream.respond(initialMetadata.isEmpty ? HeaderLists.grpcResponse : GRPCHeaders.response(initialMetadata), endsStream: false)
  }

  // MARK: Messages

  func unaryRequest<M: Message>(_ type: M.Type) throws(RPCError) -> M {
    guard let stream else { throw RPCError(.cancelled, "the caller is gone") }
    let bytes = stream.inbound.bytes
    switch GRPCFrame.parse(bytes, maximumBytes: server.configuration.maximumRequestBytes) {
    case .complete(let frame):
      guard frame.end == bytes.count else { throw RPCError(.unimplemented, "the call has more than one request message") }
      return try decode(frame, bytes)
    case .empty: throw RPCError(.unimplemented, "the call ended without a request message")
    case .incomplete: throw RPCError(.internal, "the request message is cut off")
    case .tooLarge(let size): throw .messageTooLarge(size, limit: server.configuration.maximumRequestBytes)
    }
  }

  func unaryResponse<M: Message>(_ message: M) throws(RPCError) {
    guard let stream, !isAnswered else { return }
    precondition(!hasResponse, "a unary call has one response")
    try encode(message, stream)
    hasResponse = true
  }

  func decode<M: Message>(_ frame: GRPCFrame, _ bytes: UnsafeRawBufferPointer) throws(RPCError) -> M {
    guard !frame.isCompressed else { throw RPCError(.internal, "a message is compressed, but no grpc-encoding was named") }
    traffic.received += frame.count
    do {
      return try server.decoder.decode(M.self, from: UnsafeRawBufferPointer(rebasing: bytes[GRPCFrame.prefixBytes..<frame.end]))
    } catch {
      throw .undecodable(error)
    }
  }

  func encode<M: Message>(_ message: M, _ stream: HTTP2Stream) throws(RPCError) {
    let output = stream.outbound
    let start = output.count
    // One byte of flags, uncompressed, and room for the length.
    memset(output.reserve(GRPCFrame.prefixBytes), 0, GRPCFrame.prefixBytes)
    output.commit(GRPCFrame.prefixBytes)
    do {
      let count = try server.encoder.encode(message, into: output)
      output.overwrite(bigEndian: UInt32(count), at: start + 1)
      traffic.sent += count
    } catch {
      output.truncate(to: start)
      throw RPCError(.internal, "the response cannot be encoded", cause: error)
    }
  }
}
