package import Buffers
internal import CNghttp2

/// Whoever serves (or, on a client, awaits) one stream. All calls come on the stream's loop, from inside nghttp2.
package protocol HTTP2StreamHandler: AnyObject {
  /// The header list is complete: the request's on a server, the response's on a client (again for each 1xx and the trailers'
  /// block, which is in ``HTTP2Stream/trailers``).
  func streamReceivedHeaders(_ stream: HTTP2Stream)
  /// Bytes were added to ``HTTP2Stream/inbound``.
  func streamReceivedData(_ stream: HTTP2Stream)
  /// The peer will send no more.
  func streamReceivedEnd(_ stream: HTTP2Stream)
  /// What was written has left for the socket, as far as ``HTTP2Stream/notifyWhenDrained(to:)`` asked; a suspended writer may
  /// go on. The handler may write at once.
  func streamDrained(_ stream: HTTP2Stream)
  /// The stream is over. It must not be touched afterwards: it will serve somebody else.
  func streamClosed(_ stream: HTTP2Stream, _ error: HTTP2ErrorCode)
  /// Requests that are not whole take too much memory, and this one is to be refused (server only). Not from inside nghttp2.
  func streamOverBudget(_ stream: HTTP2Stream)
}

extension HTTP2StreamHandler {
  /// Resets the stream.
  package func streamOverBudget(_ stream: HTTP2Stream) { stream.reset(.enhanceYourCalm) }
}

/// One request and its response. Recycled when it is over, with its buffers and its handler.
///
/// Confined to the loop of its connection.
package final class HTTP2Stream {
  /// The identifier on the wire.
  package internal(set) var id: Int32 = 0
  /// The connection that it belongs to.
  package var connection: HTTP2Connection { owner.takeUnretainedValue() }
  // SAFETY: a connection outlives its streams: it ends all of them before it goes.
  private var owner: Unmanaged<HTTP2Connection>
  /// Who serves it. Left in place when the stream is recycled, so that the handler can be reused too.
  package var handler: (any HTTP2StreamHandler)?
  /// The peer's header list.
  package let headers = HeaderBlock()
  /// The peer's trailers, once they came.
  package internal(set) var trailers: HeaderBlock?
  /// What the peer sent and nobody took yet.
  package let inbound = InboundBody()
  /// What is to be sent as DATA. Written by the handler, emptied by the connection.
  package let outbound = ByteBuffer(capacity: 256)

  /// Bytes received that the peer's window has not been opened for again.
  package internal(set) var unopenedBytes = 0

  var index = -1
  var hasReceivedHeaders = false
  /// The peer has ended its side.
  package internal(set) var isRemoteClosed = false
  var isResetByPeer = false
  /// Whose request it is, when it came over a proxy's connection and its headers have been read.
  package internal(set) var client: ClientAccount?
  /// Its client has done too much that is of no use: the request is to be refused (server only).
  package internal(set) var isUnwelcome = false
  /// Content of the response has left for the peer.
  var hasSentContent = false
  /// WINDOW_UPDATEs that a proxy may pass on of it: a few with the request, and with each useful DATA frame.
  private var freeUpdates = HTTP2Stream.updatesPerWork
  private static let updatesPerWork = 4
  /// From when on a reset is no surprise: the call's time is as good as over.
  var resetIsFreeFrom = UInt64.max
  /// The reset that it is going to end with has been counted.
  var isCharged = false
  /// The stream is over.
  package internal(set) var isClosed = true
  /// The request never left this side: its connection ended first, or took no new streams any more (client only).
  package internal(set) var isUnsent = false
  /// Nothing will be added to ``outbound``.
  package private(set) var isOutboundFinished = false
  private var outboundTrailers: HeaderList?
  private var isDeferred = false
  /// At how many waiting bytes the handler is told; -1 when it did not ask.
  private var drainMark = -1
  /// What the connection counts of ``outbound`` and of ``inbound``.
  var countedOutbound = 0
  var countedInbound = 0
  /// Bytes that one message may take beyond the stream's window.
  var admitted = 0
  var awaitsAdmission = false
  /// How it gets on, as seen by the last look.
  var writing = StreamProgress()
  var reading = StreamProgress()

  init(on connection: HTTP2Connection) { owner = .passUnretained(connection) }

  func open(id: Int32, on connection: HTTP2Connection) {
    self.id = id
    owner = .passUnretained(connection)
    isClosed = false
  }

  /// Makes the stream ready for its next use.
  func recycle() {
    headers.reset()
    trailers = nil
    inbound.reset()
    outbound.reset(keeping: 64 << 10)
    unopenedBytes = 0
    hasReceivedHeaders = false
    isRemoteClosed = false
    isUnsent = false
    isResetByPeer = false
    isCharged = false
    client = nil
    isUnwelcome = false
    hasSentContent = false
    freeUpdates = Self.updatesPerWork
    resetIsFreeFrom = .max
    isOutboundFinished = false
    outboundTrailers = nil
    isDeferred = false
    drainMark = -1
    awaitsAdmission = false
    writing = StreamProgress()
    reading = StreamProgress()
  }

  // MARK: Sending

  /// Sends the response's headers. With `endsStream` nothing follows.
  package func respond(_ headers: HeaderList, endsStream: Bool) {
    guard !isClosed else { return }
    owner._withUnsafeGuaranteedRef { $0.submitResponse(self, headers, endsStream: endsStream) }
    isOutboundFinished = endsStream
    if endsStream { endUnreadRequest() }
  }

  func markRequestSubmitted(endsStream: Bool) {
    isOutboundFinished = endsStream
  }

  /// Tells the connection that ``outbound`` has grown.
  package func outboundGrew() {
    guard !isClosed else { return }
    countOutbound()
    resumeSending()
  }

  /// Ends this side after what is in ``outbound``, with trailers if there are any.
  package func finish(trailers: HeaderList? = nil) {
    guard !isClosed, !isOutboundFinished else { return }
    isOutboundFinished = true
    outboundTrailers = trailers
    countOutbound()
    resumeSending()
  }

  /// Gives the stream up at once, in both directions.
  package func reset(_ error: HTTP2ErrorCode) {
    guard !isClosed else { return }
    owner._withUnsafeGuaranteedRef { $0.submitReset(self, error) }
  }

  /// Asks for ``HTTP2StreamHandler/streamDrained(_:)``, once, when no more than so many bytes wait in ``outbound``.
  ///
  /// - Parameter lowWater: The bytes, checked as DATA frames leave. With more than 0 a writer is woken while there still is
  ///   something to send, so that a stream that waits for its writer does not run dry.
  package func notifyWhenDrained(to lowWater: Int = 0) { drainMark = lowWater }

  /// Whether the connection (of a proxy: the client) and the process have memory for one more message to wait in.
  @inline(__always)
  package var hasRoom: Bool { owner._withUnsafeGuaranteedRef { $0.hasRoom(for: self) } }

  /// Notes when this side will give the call up by itself. The caller counts the same time from a little earlier on: its reset may
  /// come before or after that, and is not held against it.
  ///
  /// - Parameters:
  ///   - deadline: That moment, in nanoseconds of the monotonic clock.
  ///   - time: The nanoseconds that the call has in all.
  package func expires(at deadline: UInt64, after time: UInt64) {
    resetIsFreeFrom = deadline - min(deadline, min(time / 8, 1_000_000_000))
  }

  /// Asks for ``HTTP2StreamHandler/streamDrained(_:)`` when there may be room again.
  package func notifyWhenRoom() { owner._withUnsafeGuaranteedRef { $0.awaitRoom(self) } }

  @inline(__always)
  private func countOutbound() {
    let count = outbound.count
    owner._withUnsafeGuaranteedRef { $0.countOutbound(count - countedOutbound) }
    client?.outbound += count - countedOutbound
    countedOutbound = count
  }

  private func endUnreadRequest() {
    guard !isRemoteClosed else { return }
    owner._withUnsafeGuaranteedRef { if $0.role == .server { $0.expectEnd(of: self) } }
  }

  private func resumeSending() {
    if isDeferred {
      isDeferred = false
      owner._withUnsafeGuaranteedRef { $0.resumeData(self) }
    } else {
      owner._withUnsafeGuaranteedRef { $0.scheduleFlush() }
    }
  }

  // MARK: Called by nghttp2

  /// How many of the bytes in ``outbound`` go into the next DATA frame, and what the frame's flags are.
  func nextFrame(_ room: Int, _ flags: UnsafeMutablePointer<UInt32>) -> Int {
    let count = min(room, outbound.count)
    if count == 0 && !isOutboundFinished {
      isDeferred = true
      return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }
    if count == outbound.count && isOutboundFinished {
      flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
      if let outboundTrailers {
        flags.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
        owner._withUnsafeGuaranteedRef { $0.submitTrailers(self, outboundTrailers) }
      }
      endUnreadRequest()
    }
    if count > 0 { flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue }
    return count
  }

  /// The bytes of a DATA frame are on their way.
  func sent(_ count: Int) {
    outbound.removeFirst(count)
    countedOutbound -= count
    hasSentContent = true
    if let client {
      client.outbound -= count
      if count >= Conduct.usefulBytes || outbound.isEmpty { freeUpdates += Self.updatesPerWork }
    }
    writing.bytes += count
    if outbound.count <= drainMark {
      drainMark = -1
      handler?.streamDrained(self)
    }
  }

  // MARK: Receiving

  /// Whether one more WINDOW_UPDATE answers something that was sent.
  func takeUpdate() -> Bool {
    guard freeUpdates > 0 else { return false }
    freeUpdates -= 1
    return true
  }

  /// Takes `count` bytes from ``inbound`` for good and lets the peer send as many more.
  package func consume(_ count: Int) {
    inbound.removeFirst(count)
    owner._withUnsafeGuaranteedRef { $0.countInbound(self) }
    openWindowForTaken()
  }

  /// Lets the peer send as much more as was taken from ``inbound`` since the last time.
  package func openWindowForTaken() { openWindow(unopenedBytes - inbound.count) }

  /// The least that is worth opening the window for, where each opening costs something: what waits here never fills the window first.
  package var windowStep: Int { owner._withUnsafeGuaranteedRef { $0.windowStep } }

  /// What a peer can send before its window is opened for the first time, but for what is above 64 KiB: it shows that something comes.
  package var unaskedBytes: Int { owner._withUnsafeGuaranteedRef { min(64 << 10, $0.resources.limits.streamWindowBytes) } }

  /// Lets the peer send on although what it sent still waits here, for something of `total` bytes that is wanted whole: at once
  /// when it fits into the stream's window or the connection's budget, else as soon as it does.
  ///
  /// - Returns: Whether it is let in now.
  @discardableResult
  package func openWindow(toHold total: Int) -> Bool {
    guard unopenedBytes > 0 else { return true }
    return owner._withUnsafeGuaranteedRef { $0.openWindow(self, toHold: total) }
  }

  /// Gives back the memory of what waits here, now that it has been read.
  package func dropInbound() {
    inbound.reset()
    owner._withUnsafeGuaranteedRef { $0.countInbound(self) }
    taken()
  }

  /// What was to be held whole has been taken.
  package func taken() {
    guard admitted > 0 else { return }
    owner._withUnsafeGuaranteedRef { $0.releaseAdmission(self) }
  }

  /// Lets the peer send more although what it sent still waits here: for whoever bounds the waiting bytes in another way.
  package func openWindow(_ count: Int) {
    guard count > 0 else { return }
    unopenedBytes -= count
    owner._withUnsafeGuaranteedRef {
      $0.countInbound(self)
      $0.openWindow(self, count)
    }
  }
}
