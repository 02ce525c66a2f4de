internal import Buffers
internal import EventLoop
internal import HTTP2
internal import RPC
internal import RPCWire

/// One attempt of a call: one HTTP/2 stream, the messages on it, and how it ended.
///
/// Begun by ``start(on:)``, it has ended when ``outcome`` is set, which its own side may do at any time by ``abandon(_:)``.
/// Responses that came before the end can still be taken afterwards, unless the attempt was abandoned.
// SAFETY: used on its loop only; who comes from elsewhere hops there first.
final class CallAttempt: HTTP2StreamHandler, @unchecked Sendable {
  let part: ClientLoop
  let plan: CallPlan
  /// Gone as soon as the stream is closed or given up.
  var stream: HTTP2Stream?
  /// How the attempt ended.
  private(set) var outcome: CallOutcome?
  /// The response's headers, once they are known to be such.
  var initialMetadata: Metadata?
  var responseCompression = MessageCompression.identity
  var responseWasCompressed = false

  /// A connection that is used as soon as the request is known, for formats whose headers depend on it.
  var reserved: HTTP2Connection?
  /// Whether the one message of a body without frames was taken.
  var hasTakenBody = false
  /// Bytes of messages that were added, and that were taken, as they are on the wire.
  var sentBytes = 0
  var takenBytes = 0
  /// Whether nothing more will be sent.
  var isSendingFinished = false
  /// Whether, when the attempt ended, the connection had taken all that was added: whoever waited for that has had its way.
  private(set) var hasSentAll = false
  /// What is left of the response when the stream is gone.
  private var leftover: ByteBuffer?
  private var isAbandoned = false
  private var hasReceivedData = false
  /// Whether the response has begun, which the caller cannot unsee.
  private var isCommitted = false
  /// What was sent so far, as long as another attempt may need it.
  var replay: ReplayBuffer?
  /// The server, for who observes the call.
  private var observedPeer: Peer?
  /// How far the response has been looked at: so many bytes are whole messages that nobody took yet.
  var scannedBytes = 0
  var scannedMessages = 0
  var receivers: [UnsafeContinuation<Void, Never>] = []
  var writers: [UnsafeContinuation<Void, Never>] = []
  private let timer = LoopTimer()

  init(_ plan: CallPlan, on part: ClientLoop) {
    self.plan = plan
    self.part = part
  }

  /// Opens the stream, or takes note of the connection when the request has to be known first.
  ///
  /// - Returns: Whether the attempt is on its way; if not, the connection takes no new calls and the outcome says so.
  func start(on connection: HTTP2Connection) -> Bool {
    if let deadline = plan.deadline {
      timer.onFire = { [unowned self] in abandon(.deadlineExceeded) }
      part.loop.arm(timer, at: MonotonicInstant(nanoseconds: deadline.monotonicNanoseconds))
    }
    guard plan.wire != .connectUnary else {
      reserved = connection
      return true
    }
    return open(on: connection, RequestHeaders.list(plan, part, isSecure: connection.isSecure), endsStream: false)
  }

  func open(on connection: HTTP2Connection, _ headers: HeaderList, endsStream: Bool) -> Bool {
    if plan.observation != nil { observedPeer = Peer(address: connection.peer.host, port: connection.peer.port) }
    stream = connection.request(headers, endsStream: endsStream, handler: self)
    guard stream == nil else { return true }
    part.connectionIsExhausted(connection)
    finish(.unprocessed("the connection takes no new calls", .neverSent))
    return false
  }

  // MARK: The end

  /// Ends the attempt from this side; what the server still says is of no interest.
  func abandon(_ error: RPCError, _ reach: RetryState.Reach = .committed) {
    isAbandoned = true
    leftover = nil
    reserved = nil
    finish(.failure(error, reach))
    stream?.reset(.cancel)
    stream = nil
  }

  /// Ends the attempt because nobody is interested any more.
  func leave() {
    guard outcome != nil else { return abandon(RPCError(.cancelled, "the call was cancelled")) }
    isAbandoned = true
    leftover = nil
    // The server has said all that matters and may be waiting for more.
    if let stream, !stream.isRemoteClosed || !isSendingFinished { stream.reset(.cancel) }
    stream = nil
  }

  /// Replaces a success that turns out not to be one.
  func spoil(_ error: RPCError) {
    guard outcome != nil else { return abandon(error) }
    outcome?.error = withHeaders(error)
    leave()
  }

  func finish(_ result: CallOutcome) {
    guard outcome == nil else { return }
    var result = result
    // Servers end calls at the deadline too; theirs may be told first.
    if result.error?.code == .cancelled, !isAbandoned, plan.deadline?.hasPassed == true { result.error = .deadlineExceeded }
    if let error = result.error { result.error = withHeaders(error) }
    outcome = result
    if let observation = plan.observation { report(to: observation, result.error) }
    hasSentAll = stream?.outbound.isEmpty ?? false
    if part.loop.isCurrent { part.loop.disarm(timer) }
    wake(&receivers)
    wake(&writers)
  }

  /// The error with the headers that have come before it.
  private func withHeaders(_ error: RPCError) -> RPCError {
    var error = error
    error.initialMetadata = initialMetadata ?? Metadata()
    return error
  }

  private func report(to observation: any ClientCallObservation, _ error: RPCError?) {
    var traffic = CallTraffic()
    traffic.sent = sentBytes
    traffic.received = takenBytes + waitingBytes
    observation.attemptEnds(error, traffic: traffic, peer: observedPeer)
  }

  func wake(_ waiting: inout [UnsafeContinuation<Void, Never>]) {
    guard !waiting.isEmpty else { return }
    for continuation in waiting { continuation.resume() }
    waiting.removeAll(keepingCapacity: true)
  }

  /// Waits until something has come or the attempt has ended.
  func waitForProgress() async { await withUnsafeContinuation { receivers.append($0) } }

  /// Waits for the end, also by cancellation of the task that waits.
  func waitForEnd() async {
    guard outcome == nil else { return }
    await withTaskCancellationHandler {
      while outcome == nil { await waitForProgress() }
    } onCancel: {
      let isTaken = part.loop.execute { self.abandon(RPCError(.cancelled, "the call was cancelled")) }
      if !isTaken { loopHasEnded() }
    }
  }

  /// Ends the attempt for whoever waits, once its loop has ended: nobody else touches what belonged to it any more.
  func loopHasEnded() {
    isAbandoned = true
    leftover = nil
    reserved = nil
    stream = nil
    finish(.failure(RPCError(.cancelled, "the call was cancelled")))
  }

  // MARK: What has come

  /// The bytes of the response that nobody took yet; none once the attempt was abandoned.
  var inbound: UnsafeRawBufferPointer {
    if let leftover { return leftover.bytes }
    return stream?.inbound.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }

  func removeFirst(_ count: Int) {
    if let leftover { leftover.removeFirst(count) } else { stream?.inbound.removeFirst(count) }
  }

  /// Why nothing may be taken any more, whatever has come.
  var abandonment: RPCError? { isAbandoned ? outcome?.error : nil }

  // MARK: The stream's events

  func streamReceivedHeaders(_ stream: HTTP2Stream) {
    guard stream.trailers == nil, outcome == nil else { return }
    switch ResponseHead.read(stream.headers, plan) {
    case .refused(let error):
      initialMetadata = ResponseHead.metadata(stream.headers, plan.wire)
      abandon(error, .processed)
    case .accepted(let compression):
      // What a failed unary call of Connect says is all in its body.
      isCommitted = plan.wire != .connectUnary || stream.headers.value(.status, is: "200")
      if isCommitted { replay?.discard() }
      responseCompression = compression
      initialMetadata = ResponseHead.metadata(stream.headers, plan.wire)
      wake(&receivers)
    case .perhapsTrailers: break
    }
  }

  func streamReceivedData(_ stream: HTTP2Stream) {
    guard self.stream != nil else { return stream.consume(stream.inbound.count) }
    guard outcome == nil else { return }
    hasReceivedData = true
    noteData(stream)
  }

  func streamReceivedEnd(_ stream: HTTP2Stream) {
    guard self.stream != nil else { return }
    if outcome == nil {
      var end = judged(ResponseEnd.atEnd(of: stream, self, hasBody: hasReceivedData))
      end.reach = serverReach
      finish(end)
    }
    // Nobody reads what is still to be sent.
    if !isSendingFinished || !stream.outbound.isEmpty { stream.reset(.noError) }
  }

  func streamDrained(_ stream: HTTP2Stream) { wake(&writers) }

  func streamClosed(_ stream: HTTP2Stream, _ error: HTTP2ErrorCode) {
    guard self.stream != nil else { return }
    if !isAbandoned, stream.inbound.count > 0 {
      let kept = ByteBuffer(capacity: stream.inbound.count)
      kept.append(stream.inbound.bytes)
      leftover = kept
    }
    self.stream = nil
    guard outcome == nil else { return }
    if stream.isUnsent {
      finish(.unprocessed("the connection ended before the call began", .neverSent))
    } else if error == .refusedStream {
      finish(.unprocessed("the server refused the stream", .refused))
    } else {
      finish(.failure(ResponseEnd.error(forReset: error, connection: stream.connection), serverReach))
    }
  }

  /// How far the attempt has come when it is the server, or the connection, that ends it.
  private var serverReach: RetryState.Reach { isCommitted ? .committed : .processed }
}
