internal import Buffers
internal import ConnectWire
internal import EventLoop
internal import HTTP2
internal import RPC
internal import RPCWire
internal import Synchronization

/// One call on one HTTP/2 stream, from its headers to its status, in whichever protocol it came.
///
/// A unary call is dispatched inside nghttp2's callback as soon as its request is whole: a handler that never suspends has
/// answered before the callback returns. Reused with its stream, unless somebody still holds it.
///
/// Handlers run on its loop, since their task prefers it, and may hand the call to tasks and actors that do not. Whatever moves messages
/// asks where it is, a comparison of two pointers, and visits the loop from elsewhere; what handlers set is behind a lock; and what is
/// settled before a handler begins may be read anywhere.
// SAFETY: what is neither settled, nor atomic, nor behind the lock is used on its loop only.
final class RPCServerCall: ServerCall, HTTP2StreamHandler, @unchecked Sendable {
  let server: ServerLoop
  // SAFETY: that of the server's loop, which the server holds.
  private let loopIdentity: UnsafeMutableRawPointer
  /// Gone as soon as the stream is closed, even if the handler still runs.
  var stream: HTTP2Stream? { didSet { borrowedStream = stream.map(Unmanaged.passUnretained) } }
  /// The same for what is done with every message: counting its references would be a fifth of the price.
  // SAFETY: `stream` holds it, and a connection's streams outlive the tick in which they end.
  private(set) var borrowedStream: Unmanaged<HTTP2Stream>?
  var route: ServedMethod?
  /// That of the method, at hand for every message.
  var kind = MethodKind.unary
  /// The same of the largest request.
  var maximumRequestBytes = 0
  /// The same of ``ServedMethod/beginsAtHeaders``.
  var beginsAtHeaders = false
  /// Its turn among the large requests, while it has one.
  var turn: LargeRequests.Turn?
  var form: CallForm
  /// The query and the message of a call that came by GET.
  var getCall: (query: String, message: [UInt8])?
  var deadline: Deadline?
  /// Values that interceptors have attached, on any thread. Many calls have a caller there, and nothing in ``shared``.
  let attached = Mutex(CallValues())
  /// Whether anything is in ``attached``: a call without needs no lock to know it.
  let hasValues = Atomic<Bool>(false)
  /// Everything else that handlers and interceptors set, on any thread.
  struct Shared {
    var initialMetadata = Metadata()
    var trailingMetadata = Metadata()
    /// The choice of the handler; nil without one.
    var compression: MessageCompression?
    /// What could be read from the stream before it was gone.
    var metadata: Metadata?
    var peer: Peer?
  }
  let shared = Mutex(Shared())
  /// The same of ``shared``.
  let hasShared = Atomic<Bool>(false)
  private let receivedBytes = Atomic<Int>(0)
  private let sentBytes = Atomic<Int>(0)
  private let lastWasCompressed = Atomic<Bool>(false)

  var hasSentHeaders = false
  var hasResponse = false
  var isRunning = false
  /// When the handler began, if somebody looks on; before that, when the headers came.
  var begun: UInt64 = 0
  /// Whether the handler has begun, or will never.
  var hasBegun = false
  /// The status has been decided: what the handler still does is of no consequence.
  var isAnswered = false
  var hasPassedDeadline = false
  /// Where its loop keeps it until its deadline is armed; -1 where it does not.
  var begunIndex = -1
  var task: Task<Void, Never>?
  /// Where the handler is counted while it is suspended.
  var home: HTTP2Connection?
  /// The same, where a proxy's connection is shared by many.
  var client: ClientAccount?
  private let deadlineTimer = LoopTimer()
  var receivers: [UnsafeContinuation<Void, Never>] = []
  var writers: [UnsafeContinuation<Void, Never>] = []

  init(on server: ServerLoop) {
    self.server = server
    loopIdentity = server.loop.identity
    form = server.defaultForm
    deadlineTimer.onFire = { [unowned self] in deadlinePassed() }
  }

  /// Whether the calling thread is that of the call's loop.
  @inline(__always)
  var isHome: Bool { isCurrentLoop(loopIdentity) }

  /// Whether nobody but its stream uses it any more.
  var isReusable: Bool { !isRunning && stream == nil }

  func open(_ stream: HTTP2Stream) {
    self.stream = stream
    route = nil
    form = server.defaultForm
    if getCall != nil { getCall = nil }
    deadline = nil
    if hasValues.load(ordering: .acquiring) {
      attached.withLock { $0 = CallValues() }
      hasValues.store(false, ordering: .releasing)
    }
    if hasShared.load(ordering: .acquiring) {
      shared.withLock { $0 = Shared() }
      hasShared.store(false, ordering: .releasing)
    }
    receivedBytes.store(0, ordering: .relaxed)
    sentBytes.store(0, ordering: .relaxed)
    requestWasCompressed = false
    hasSentHeaders = false
    hasBegun = false
    hasResponse = false
    isAnswered = false
    hasPassedDeadline = false
  }

  // MARK: The stream's events

  func streamReceivedHeaders(_ stream: HTTP2Stream) {
    // A second header block is the request's trailers, which nothing here uses.
    guard stream.trailers == nil else { return }
    begun = server.loop.now.nanoseconds
    if server.hasCORS { form.isCrossOrigin = stream.headers.value(.origin) != nil }
    if !stream.isUnwelcome, let (entry, wire, codec) = ServerRequestKind.plainCall(stream.headers, server) {
      route = entry._withUnsafeGuaranteedRef { $0.method }
      return begin(wire, codec, stream.headers)
    }
    if stream.isUnwelcome { server.events.callShed(.abuse) }
    switch stream.isUnwelcome
      ? ServerRequestKind.unwelcome(stream.headers, server) : ServerRequestKind(stream.headers, server)
    {
    case .rpc(let route, let wire, let codec):
      self.route = route
      begin(wire, codec, stream.headers)
    case .connectGet(let route, let request, let codec):
      self.route = route
      kind = route.kind
      form.wire = .connectUnary
      form.codec = codec
      if let problem = readHeaders(stream.headers) ?? readQuery(request) { return refuse(problem) }
      begin()
    case .http(let handler, let route):
      let call = HTTPServerCall(on: server, handler, route)
      stream.handler = call
      self.stream = nil
      call.open(stream)
      call.begin(stream)
    case .refusedRPC(let error, let wire, let codec, let httpStatus, let route):
      self.route = route
      form.wire = wire
      form.codec = codec
      refuse(error, httpStatus: httpStatus)
    }
  }

  private func begin(_ wire: WireProtocol, _ codec: MessageCodec, _ headers: HeaderBlock) {
    kind = route.unsafelyUnwrapped.kind
    form.wire = wire
    form.codec = codec
    if let problem = readHeaders(headers) { return refuse(problem) }
    begin()
  }

  private func begin() {
    maximumRequestBytes = route.unsafelyUnwrapped.maximumRequestBytes
    beginsAtHeaders = route.unsafelyUnwrapped.beginsAtHeaders
    if server.isDraining, route.unsafelyUnwrapped.endsWithServer { return refuse(.stopping) }
    // Also before the request is whole: it may never become so.
    if deadline != nil { server.bound(self) }
    if kind != .unary || beginsAtHeaders { start() }
  }

  func streamReceivedData(_ stream: HTTP2Stream) {
    guard !isAnswered else { return discardInput() }
    guard receivers.isEmpty else { return wake(&receivers) }
    guard kind == .unary, !beginsAtHeaders else { return }
    let limit = maximumRequestBytes
    guard form.wire != .connectUnary else { return receivedBody(stream, limit) }
    switch Envelope.parse(stream.inbound.bytes, maximumBytes: limit) {
    case .tooLarge(let size): refuse(tooLarge(size))
    case .incomplete(let total):
      // The whole message is needed before anything can happen, and it is bounded: the window may open as soon as there is room.
      if stream.unopenedBytes >= stream.windowStep && stream.openWindow(toHold: total) { stream.inbound.reserve(total) }
    case .complete(let envelope) where envelope.end < stream.inbound.count:
      // Now, since the rest of it may wait for a window that will not open.
      refuse(RPCError(.unimplemented, "the call has more than one request message"))
    case .complete, .empty: break
    }
  }

  /// The body of a unary Connect call grows: its length is known when it ends, but not beyond the limit.
  private func receivedBody(_ stream: HTTP2Stream, _ limit: Int) {
    // The body of a GET means nothing.
    guard getCall == nil else { return discardInput() }
    let most = form.requestCompression == .identity ? limit : Envelope.longest(of: limit)
    guard stream.inbound.count <= most else { return refuse(tooLarge()) }
    guard stream.unopenedBytes >= stream.windowStep else { return }
    stream.openWindow(toHold: stream.headers.text(named: "content-length").flatMap(Int.init).map { min($0, most) } ?? most)
  }

  func streamReceivedEnd(_ stream: HTTP2Stream) {
    guard !isAnswered else { return }
    guard receivers.isEmpty else { return wake(&receivers) }
    if kind == .unary && !beginsAtHeaders { start() }
  }

  func streamDrained(_ stream: HTTP2Stream) {
    wake(&writers)
  }

  func streamOverBudget(_ stream: HTTP2Stream) {
    guard !isAnswered else { return discardInput() }
    shed(.requestBytes)
    stopHandler()
  }

  func streamClosed(_ stream: HTTP2Stream, _ error: HTTP2ErrorCode) {
    guard isRunning else {
      if !isAnswered { noteRefusal(RPCError(.cancelled, "the call was cancelled")) }
      isAnswered = true
      letGo(stream)
      stopClock()
      return
    }
    letGo(stream)
    isAnswered = true
    stopClock()
    task?.cancel()
    wakeWaiters()
  }

  /// A handler that still runs may still ask: what could be asked for goes with the stream. Who holds a call that is over has what was
  /// asked for before.
  private func letGo(_ stream: HTTP2Stream) {
    // Nobody else holds a call whose handler never began.
    guard hasBegun else { return self.stream = nil }
    shared.withLock { shared in
      if isRunning {
        shared.metadata = shared.metadata ?? GRPCHeaders.metadata(stream.headers)
        shared.peer = ConnectionPeer.of(stream.connection)
        hasShared.store(true, ordering: .releasing)
      }
      self.stream = nil
    }
  }

  // MARK: What it has moved

  var traffic: CallTraffic {
    var traffic = CallTraffic()
    traffic.received = receivedBytes.load(ordering: .relaxed)
    traffic.sent = sentBytes.load(ordering: .relaxed)
    return traffic
  }

  // The loop alone counts, so that nothing has to be added atomically.

  @inline(__always)
  func received(_ bytes: Int) {
    receivedBytes.store(receivedBytes.load(ordering: .relaxed) &+ bytes, ordering: .relaxed)
  }

  @inline(__always)
  func sent(_ bytes: Int) { sentBytes.store(sentBytes.load(ordering: .relaxed) &+ bytes, ordering: .relaxed) }

  var requestWasCompressed: Bool {
    @inline(__always) get { lastWasCompressed.load(ordering: .relaxed) }
    @inline(__always) set { lastWasCompressed.store(newValue, ordering: .relaxed) }
  }

  func tooLarge(_ size: Int? = nil) -> RPCError { route.unsafelyUnwrapped.tooLarge(size) }

  func discardInput() { stream.map { $0.consume($0.inbound.count) } }

  func wakeWaiters() {
    wake(&receivers)
    wake(&writers)
  }

  private func wake(_ waiting: inout [UnsafeContinuation<Void, Never>]) {
    guard !waiting.isEmpty else { return }
    for continuation in waiting { continuation.resume() }
    waiting.removeAll(keepingCapacity: true)
  }

  // MARK: The clock

  /// Arms the deadline of a call that outlives the tick in which it began; most do not.
  func startClock() {
    guard stream != nil, !isAnswered, let deadline else { return }
    server.loop.arm(deadlineTimer, at: MonotonicInstant(nanoseconds: deadline.monotonicNanoseconds))
  }

  func stopClock() {
    guard deadline != nil else { return }
    server.unbound(self)
    server.loop.disarm(deadlineTimer)
  }
}
