internal import CNghttp2
internal import EventLoop

/// A request that goes on although its response is complete.
struct UnreadRequest {
  let stream: HTTP2Stream
  let id: Int32
  /// When the peer is told to stop.
  let end: MonotonicInstant
}

extension HTTP2Connection {
  /// A response that is complete before its request ends is followed by a reset, so that the peer stops sending: RFC 9113, section
  /// 8.1. Not at once: most requests end by themselves a moment later, and a client that was about to send the rest may take the
  /// reset for a failure of its call (curl 7.88 does). nghttp2 would also drop what it has not sent of the stream.
  func expectEnd(of stream: HTTP2Stream) {
    let end = MonotonicInstant.now().advanced(by: resources.limits.unreadRequestTime)
    unreadRequests.append(UnreadRequest(stream: stream, id: stream.id, end: end))
  }

  /// Arms the timer for the oldest of those that still go on.
  func awaitUnreadRequests() {
    unreadRequests.removeAll { !isUnread($0) }
    guard let oldest = unreadRequests.first else { return }
    let timer = unreadTimer ?? makeUnreadTimer()
    if !timer.isArmed { loop.arm(timer, at: oldest.end) }
  }

  private func makeUnreadTimer() -> LoopTimer {
    let timer = LoopTimer { [unowned self] in endUnreadRequests() }
    unreadTimer = timer
    return timer
  }

  private func endUnreadRequests() {
    for request in unreadRequests where request.end <= loop.now && isUnread(request) {
      resources.statistics.resetsSent += 1
      nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), request.id, HTTP2ErrorCode.noError.rawValue)
    }
    unreadRequests.removeAll { $0.end <= loop.now }
    scheduleFlush()
  }

  private func isUnread(_ request: UnreadRequest) -> Bool {
    stream(request.id) === request.stream && !request.stream.isRemoteClosed
  }
}
