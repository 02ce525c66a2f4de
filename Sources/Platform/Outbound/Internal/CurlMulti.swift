internal import CCurl
internal import EventLoop
internal import Synchronization

/// One loop's libcurl multi handle: its connections, its transfers, its sockets and its timer.
///
/// libcurl's callbacks only take notes. Handles are added when a transfer starts, and finished or cancelled ones are taken
/// away at the end of the tick, so that libcurl is never called from within itself and all that starts in one tick is
/// worked on together.
// SAFETY: everything but `init` and `deinit` happens on the loop, which debug builds assert.
final class CurlMulti: EndOfTickWork, @unchecked Sendable {
  let loop: EventLoop
  private let handle: UnsafeMutableRawPointer
  private let counters: OutboundCounters
  private var sockets: [Int32: CurlSocket] = [:]
  private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
  private var cancelled: [Transfer] = []
  private var broken: [(transfer: Transfer, code: CURLcode)] = []
  private var idleHandles: [UnsafeMutableRawPointer] = []
  private let timer = LoopTimer()
  private var timeoutIsDue = false
  private var isScheduled = false
  private var isAtEndOfTick = false
  private var isClosed = false
  private static let idleHandleLimit = 64

  /// A handle without connections.
  ///
  /// - Throws: ``OutboundError`` when libcurl has no memory, or cannot be used in this process at all.
  init(
    on loop: EventLoop, _ configuration: HTTPClientConfiguration, _ counters: OutboundCounters
  ) throws(OutboundError) {
    guard CurlLibrary.isReady, let handle = curl_multi_init() else {
      throw OutboundError(.transportFailed, "libcurl cannot be initialized")
    }
    self.loop = loop
    self.handle = handle
    self.counters = counters
    parley_curl_multi_set_long(handle, CURLMOPT_PIPELINING, parley_curl_multiplex)
    parley_curl_multi_set_long(handle, CURLMOPT_MAX_HOST_CONNECTIONS, max(1, configuration.connectionsPerHost))
    parley_curl_multi_set_long(handle, CURLMOPT_MAX_CONCURRENT_STREAMS, max(1, configuration.streamsPerConnection))
    let context = Unmanaged.passUnretained(self).toOpaque()
    parley_curl_multi_set_socket(
      handle,
      { _, descriptor, what, context, _ in
        guard let context else { return 0 }
        return Unmanaged<CurlMulti>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.watch(descriptor, what) }
      }, context)
    parley_curl_multi_set_timer(
      handle,
      { _, milliseconds, context in
        guard let context else { return 0 }
        Unmanaged<CurlMulti>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.setTimer(milliseconds) }
        return 0
      }, context)
    timer.onFire = { [unowned self] in timerFired() }
  }

  /// Without ``close()`` the loop has ended before the client: no callback may reach this object any more.
  deinit {
    guard !isClosed else { return }
    parley_curl_multi_set_socket(handle, nil, nil)
    parley_curl_multi_set_timer(handle, nil, nil)
    for easy in idleHandles { curl_easy_cleanup(easy) }
    curl_multi_cleanup(handle)
  }

  // MARK: Transfers

  /// Begins a transfer, or ends it at once when it was cancelled before.
  func start(_ transfer: Transfer) {
    loop.assertInLoop()
    guard !transfer.isCancelled, !isClosed else {
      return transfer.finish(.failure(transfer.failure(.cancelled, isClosed ? "the client is shut down" : "cancelled")))
    }
    guard let easy = idleHandles.popLast() ?? curl_easy_init() else {
      return transfer.finish(.failure(transfer.failure(.transportFailed, "out of memory")))
    }
    transfer.configure(easy)
    transfer.easy = easy
    transfers[easy] = transfer
    counters.attempts.add(1, ordering: .relaxed)
    let result = curl_multi_add_handle(handle, easy)
    if result != CURLM_OK {
      end(easy, .failure(transfer.failure(.transportFailed, String(cString: curl_multi_strerror(result)))))
    } else {
      transfer.outgoing?.start(on: loop) { [weak self, weak transfer] in
        if let transfer { self?.goOn(transfer) }
      }
    }
  }

  /// Lets a transfer go on that had to wait for bytes to send, or for room for those that came.
  func goOn(_ transfer: Transfer) {
    loop.assertInLoop()
    guard !isClosed, !transfer.isCancelled, let easy = transfer.easy else { return }
    // What had come meanwhile is handed over here: where that is refused, nobody else hears of it.
    let result = curl_easy_pause(easy, parley_curl_go_on)
    if result != CURLE_OK { broken.append((transfer, result)) }
    schedule()
  }

  /// Ends a transfer whose task was cancelled; does nothing when it has ended.
  func cancel(_ transfer: Transfer) {
    loop.assertInLoop()
    transfer.isCancelled = true
    guard transfer.easy != nil else { return }
    cancelled.append(transfer)
    schedule()
  }

  /// Fails what is under way and closes all connections.
  func close() {
    loop.assertInLoop()
    guard !isClosed else { return }
    isClosed = true
    for (easy, transfer) in transfers { end(easy, .failure(transfer.failure(.cancelled, "the client is shut down"))) }
    for easy in idleHandles { curl_easy_cleanup(easy) }
    idleHandles = []
    curl_multi_cleanup(handle)
    for socket in sockets.values { socket.watch?.cancel() }
    sockets = [:]
    loop.disarm(timer)
  }

  /// Tells whoever waits for a transfer that the loop has ended, which works on none any more.
  func loopHasEnded() { for transfer in transfers.values { transfer.loopHasEnded() } }

  private func end(_ easy: UnsafeMutableRawPointer, _ result: Result<HTTPResponse, OutboundError>) {
    guard let transfer = transfers.removeValue(forKey: easy) else { return }
    counters.connections.add(parley_curl_get_long(easy, CURLINFO_NUM_CONNECTS), ordering: .relaxed)
    counters.bytesReceived.add(Int(parley_curl_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T)), ordering: .relaxed)
    if case .success = result {
      counters.responses.add(1, ordering: .relaxed)
    } else {
      counters.failures.add(1, ordering: .relaxed)
    }
    curl_multi_remove_handle(handle, easy)
    curl_easy_reset(easy)
    transfer.easy = nil
    if idleHandles.count < Self.idleHandleLimit { idleHandles.append(easy) } else { curl_easy_cleanup(easy) }
    transfer.finish(result)
  }

  // MARK: libcurl's wishes

  private func watch(_ descriptor: Int32, _ what: Int32) -> Int32 {
    if what == CURL_POLL_REMOVE {
      guard let socket = sockets.removeValue(forKey: descriptor) else { return 0 }
      socket.watch?.cancel()
      loop.keepUntilEndOfTick(socket)
      return 0
    }
    var interest: Readiness = []
    if what & CURL_POLL_IN != 0 { interest.insert(.readable) }
    if what & CURL_POLL_OUT != 0 { interest.insert(.writable) }
    if let socket = sockets[descriptor] {
      socket.watch?.setInterest(interest)
      return 0
    }
    let socket = CurlSocket(descriptor, of: self)
    guard let watch = try? loop.watch(descriptor, for: interest, socket) else { return -1 }
    socket.watch = watch
    sockets[descriptor] = socket
    return 0
  }

  private func setTimer(_ milliseconds: Int) {
    guard !isClosed else { return }
    switch milliseconds {
    case ..<0:
      timeoutIsDue = false
      loop.disarm(timer)
    case 0 where !isAtEndOfTick:
      timeoutIsDue = true
      loop.disarm(timer)
      schedule()
    default:
      timeoutIsDue = false
      loop.arm(timer, after: .milliseconds(milliseconds))
    }
  }

  // MARK: The loop's calls

  func act(on descriptor: Int32, _ events: Int32) {
    guard !isClosed else { return }
    var running: Int32 = 0
    curl_multi_socket_action(handle, descriptor, events, &running)
    schedule()
  }

  private func timerFired() {
    timeoutIsDue = true
    schedule()
  }

  private func schedule() {
    guard !isScheduled else { return }
    isScheduled = true
    loop.atEndOfTick(self)
  }

  func endOfTick() {
    guard !isClosed else { return }
    isAtEndOfTick = true
    if timeoutIsDue {
      timeoutIsDue = false
      // CURL_SOCKET_TIMEOUT
      act(on: -1, 0)
    }
    for transfer in cancelled {
      if let easy = transfer.easy { end(easy, .failure(transfer.failure(.cancelled, "cancelled"))) }
    }
    cancelled.removeAll(keepingCapacity: true)
    for (transfer, code) in broken {
      if let easy = transfer.easy { end(easy, transfer.result(code, of: easy)) }
    }
    broken.removeAll(keepingCapacity: true)
    takeFinished()
    isScheduled = false
    isAtEndOfTick = false
  }

  private func takeFinished() {
    var left: Int32 = 0
    while let message = curl_multi_info_read(handle, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle, let transfer = transfers[easy] else {
        continue
      }
      end(easy, transfer.result(message.pointee.data.result, of: easy))
    }
  }
}
