internal import CNghttp2
internal import EventLoop

extension HTTP2Connection {
  /// Ends the connection without losing a request: GOAWAY that names no last stream yet, then, once requests that were on
  /// their way have arrived, one that does; then it closes when its last stream is done.
  package func drain() {
    loop.assertInLoop()
    guard !isClosed, drainPhase == 0 else { return }
    isDraining = true
    guard session != nil, isReady else { return close() }
    drainPhase = 1
    if role == .server {
      nghttp2_submit_shutdown_notice(session)
      // The answer to a PING proves that the peer has seen the notice: RFC 9113, section 6.8.
      submitPing(Self.drainPing)
      loop.arm(timer, after: resources.limits.drainNotice)
    } else {
      sendFinalGoaway()
    }
    scheduleFlush()
  }

  func sendFinalGoaway() {
    guard drainPhase == 1, !isClosed else { return }
    drainPhase = 2
    nghttp2_submit_goaway(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nghttp2_session_get_last_proc_stream_id(session), NGHTTP2_NO_ERROR.rawValue,
      nil, 0)
    loop.arm(timer, after: resources.limits.handshakeTimeout)
    scheduleFlush()
  }

  /// Whether nothing remains to be said on a connection that is being drained.
  var isDrained: Bool { drainPhase == 2 && streams.isEmpty && nghttp2_session_want_write(session) == 0 }
}
