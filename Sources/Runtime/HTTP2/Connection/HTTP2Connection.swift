internal import Buffers
internal import CNghttp2
package import EventLoop
internal import Glibc

/// Who is told about a connection's life. Calls come on the connection's loop.
package protocol HTTP2ConnectionDelegate: AnyObject {
  /// The handshakes are done: the peer's SETTINGS have arrived.
  func connectionIsReady(_ connection: HTTP2Connection)
  /// The peer opened a stream (server only): give it a ``HTTP2Stream/handler``.
  func connection(_ connection: HTTP2Connection, opened stream: HTTP2Stream)
  /// The peer will serve no new streams (client only).
  func connectionIsDraining(_ connection: HTTP2Connection)
  /// The connection is closed; its streams are too.
  func connectionClosed(_ connection: HTTP2Connection, _ error: HTTP2Error?)
}

/// One HTTP/2 connection over a TCP or Unix socket, with or without TLS, in either role.
///
/// nghttp2 does the framing; this type moves bytes between it and the socket: what a readable socket holds is fed at once, and
/// what all its streams have to say leaves in one write at the end of the loop's tick. A peer that does not read is not read
/// from either. Confined to its loop.
package final class HTTP2Connection: DescriptorHandler, EndOfTickWork {
  /// Which side of the connection this is.
  package enum Role: Sendable { case server, client }

  /// Which side of the connection this is.
  package let role: Role
  /// The loop that it lives on.
  package let loop: EventLoop
  /// The other end.
  package let peer: SocketAddress
  /// The verified certificate of the other end, after a TLS handshake that asked for one.
  package internal(set) var peerCertificate: TLSPeerCertificate?
  /// Whether bytes are encrypted.
  package var isSecure: Bool { tls != nil }
  /// Open streams.
  package internal(set) var streams: [HTTP2Stream] = []
  /// Whether the peer's SETTINGS have arrived.
  package internal(set) var isReady = false
  /// Whether no new streams are served: either side has said GOAWAY.
  package internal(set) var isDraining = false
  /// Whether it is over.
  package private(set) var isClosed = false

  let resources: HTTP2LoopResources
  // SAFETY: `resources` holds the buffer.
  let frames: Unmanaged<ByteBuffer>
  let headerListBytes: Int
  /// The clients whose requests it carries, when the peer is a proxy.
  let clients: ClientAccounts?
  weak var delegate: (any HTTP2ConnectionDelegate)?
  var session: OpaquePointer?
  var tls: TLSEngine?
  var descriptor: Int32
  var watch: DescriptorWatch?
  /// Bytes that the socket did not take.
  var backlog: ByteBuffer?
  var closedStreams: [HTTP2Stream] = []
  // SAFETY: `streams` holds it; `remove` forgets it here.
  var headersStream: Unmanaged<HTTP2Stream>?
  // SAFETY: the block belongs to `headersStream`, which is kept until its header block is complete.
  var headersBlock: Unmanaged<HeaderBlock>?
  var fillsTrailers = false
  var scanner = FrameScanner()
  var history = StreamHistory()
  var conduct = Conduct()
  /// The stream whose header list was found to be too long last.
  var longHeadersStream: Int32 = 0
  // SAFETY: emptied when the feed ends; streams that close live on to the end of the tick.
  var borrowingStreams: [Unmanaged<HTTP2Stream>] = []
  var unreportedBytes = 0
  /// Streams whose response is on its way although their request has not ended.
  var unreadRequests: [UnreadRequest] = []
  var unreadTimer: LoopTimer?
  /// What the passing of time means for this connection, beyond its handshake and its end (server only).
  var vigil = ConnectionVigil()
  /// Fires when the vigil has to look.
  var vigilTimer: LoopTimer?
  /// What waits here in memory (server only).
  var held = HeldBytes()
  /// Handlers of this connection's calls that are suspended: their streams may be gone already.
  package var runningHandlers = 0
  var isFlushScheduled = false
  /// Something was done since the last flush that may have to be sent.
  var needsFlush = false
  /// A response was submitted since the last flush.
  var hasAnswered = false
  var isFeeding = false
  var closesAfterFeed = false
  var isReadingPaused = false
  /// What went wrong, once something has; its calls end with the connection.
  package internal(set) var failure: HTTP2Error?
  /// What the peer said when it announced the end (client only).
  package internal(set) var goaway: HTTP2Goaway?
  var drainPhase = 0
  var isLeaving = false
  /// The peer has said GOAWAY.
  var hasPeerLeft = false
  /// What nghttp2 said of the last frame that it did not accept.
  var refusal: Int32 = 0
  var outstandingPings: [OutstandingPing] = []
  var pingsSent: UInt64 = 0
  let timer = LoopTimer()
  /// When the peer sent something for the last time, to the tick.
  package internal(set) var lastActivity: MonotonicInstant
  /// When the last stream ended, or the handshake did.
  var idleSince: MonotonicInstant
  /// When it was accepted, or connected, to the tick.
  package let openedAt: MonotonicInstant
  /// For whatever the delegate keeps per connection.
  package var attachment: AnyObject?

  init(
    _ role: Role, descriptor: Int32, peer: SocketAddress, tls: TLSEngine?, resources: HTTP2LoopResources,
    delegate: any HTTP2ConnectionDelegate
  ) {
    self.role = role
    self.descriptor = descriptor
    self.peer = peer
    self.tls = tls
    self.resources = resources
    frames = .passUnretained(resources.frames)
    headerListBytes = resources.limits.headerListBytes
    clients = role == .server ? resources.clients.flatMap { $0.isProxy(peer) ? $0 : nil } : nil
    self.delegate = delegate
    loop = resources.loop
    lastActivity = loop.now
    idleSince = loop.now
    openedAt = loop.now
    timer.onFire = { [unowned self] in timerFired() }
  }

  deinit { assert(descriptor < 0, "an open connection was dropped") }

  /// Serves an accepted socket. Its descriptor is the connection's to close, also when this fails.
  package static func serve(
    _ descriptor: Int32, peer: SocketAddress, tls context: TLSContext?, resources: HTTP2LoopResources,
    delegate: any HTTP2ConnectionDelegate
  ) throws -> HTTP2Connection {
    var connection: HTTP2Connection?
    do {
      let engine = try context.map { try TLSEngine($0) }
      let made = HTTP2Connection(
        .server, descriptor: descriptor, peer: peer, tls: engine, resources: resources, delegate: delegate)
      connection = made
      try made.start()
      return made
    } catch {
      Glibc.close(descriptor)
      connection?.descriptor = -1
      throw error
    }
  }

  /// Begins to read, and to be bounded by time.
  func start() throws(EventLoopError) {
    loop.assertInLoop()
    watch = try loop.watch(descriptor, for: .readable, self)
    loop.arm(timer, after: resources.limits.handshakeTimeout)
    if tls == nil { openSession() } else { startTLS() }
  }

  func openSession() {
    let user = Unmanaged.passUnretained(self).toOpaque()
    let result =
      role == .server
      ? nghttp2_session_server_new3(&session, SessionCallbacks.table, user, resources.options.pointer, resources.memory.interface)
      : nghttp2_session_client_new3(&session, SessionCallbacks.table, user, resources.options.pointer, resources.memory.interface)
    precondition(result == 0, "nghttp2 has no memory for a session")
    let limits = resources.limits
    var settings = [
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: UInt32(limits.concurrentStreams)),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: UInt32(limits.streamWindowBytes)),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: UInt32(limits.headerListBytes)),
      nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_MAX_FRAME_SIZE.rawValue), value: UInt32(limits.frameBytes)),
    ]
    if role == .client {
      settings.append(nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0))
    }
    nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &settings, settings.count)
    nghttp2_session_set_local_window_size(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Int32(limits.connectionWindowBytes))
    scheduleFlush()
  }

  // MARK: Closing

  /// Closes at once. Streams end with `error`; what waited to be sent is lost.
  package func close(_ error: HTTP2Error? = nil) {
    loop.assertInLoop()
    guard !isClosed else { return }
    if failure == nil { failure = error }
    guard !isFeeding else {
      // nghttp2 must not lose its session while it works: the end of the feed closes.
      closesAfterFeed = true
      return
    }
    sayGoodbye()
    isClosed = true
    loop.disarm(timer)
    if let unreadTimer { loop.disarm(unreadTimer) }
    endVigil()
    unreadRequests = []
    watch?.cancel()
    watch = nil
    endAllStreams()
    nghttp2_session_del(session)
    session = nil
    tls = nil
    backlog = nil
    Glibc.close(descriptor)
    descriptor = -1
    releaseAll()
    loop.keepUntilEndOfTick(self)
    abandonPings()
    delegate?.connectionClosed(self, failure)
  }

  /// Without close_notify the peer would take the end of the connection for a truncation. What does not fit into the socket at
  /// once is given up.
  private func sayGoodbye() {
    guard let tls, backlog == nil else { return }
    tls.sendCloseNotify(output: resources.records)
    let records = resources.records
    if !records.isEmpty { _ = send(descriptor, records.bytes.baseAddress, records.count, Int32(MSG_NOSIGNAL)) }
    records.removeAll()
  }

  var mustClose: Bool { failure != nil }

  private func endAllStreams() {
    let code: HTTP2ErrorCode = failure == nil ? .noError : .internalError
    while let stream = streams.last {
      // A request that still waits for the peer to take more streams is not one of the session's yet.
      if role == .client, let session { stream.isUnsent = nghttp2_session_find_stream(session, stream.id) == nil }
      remove(stream, code)
    }
    reclaimStreams()
  }

  func remove(_ stream: HTTP2Stream, _ error: HTTP2ErrorCode) {
    let index = stream.index
    streams.swapAt(index, streams.count - 1)
    streams[index].index = index
    closedStreams.append(streams.removeLast())
    stream.isClosed = true
    release(stream)
    stream.client?.streams -= 1
    if streams.isEmpty { idleSince = loop.now }
    stream.handler?.streamClosed(stream, error)
    if headersStream?.toOpaque() == Unmanaged.passUnretained(stream).toOpaque() {
      headersStream = nil
      headersBlock = nil
    }
  }

  /// Streams that closed during this tick may be reused only after everything that could still point at them.
  func reclaimStreams() {
    while let stream = closedStreams.popLast() {
      // A server's handlers are reused with their streams. A call would stay, with its channel, until somebody calls again.
      if role == .client { stream.handler = nil }
      resources.giveBack(stream)
    }
  }

  // MARK: Time

  private func timerFired() {
    let limits = resources.limits
    if mustClose { return close(failure) }
    if drainPhase == 1 { return sendFinalGoaway() }
    // Nothing is left to do but to say goodbye, and the peer does not read even that.
    if drainPhase == 2 && streams.isEmpty { return close(failure) }
    guard isReady else {
      return close(HTTP2Error(.handshakeTimeout, "no HTTP/2 preface and SETTINGS within \(limits.handshakeTimeout)"))
    }
    let idleTime = loop.now.duration(since: idleSince)
    let isIdle = streams.isEmpty && idleTime >= limits.idleTimeout
    if isIdle && role == .server && drainPhase == 0 { return drain() }
    // A client's idle connection stays; its next look is a whole timeout away.
    loop.arm(timer, after: streams.isEmpty && !isIdle ? limits.idleTimeout - idleTime : limits.idleTimeout)
  }

  func becameReady() {
    guard !isReady else { return }
    isReady = true
    idleSince = loop.now
    loop.arm(timer, after: resources.limits.idleTimeout)
    if role == .server { beginVigil() }
    delegate?.connectionIsReady(self)
  }
}
