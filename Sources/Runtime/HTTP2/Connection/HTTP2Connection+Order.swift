internal import CNghttp2
internal import Glibc

extension HTTP2Connection {
  /// Gives a client's bytes to nghttp2, and ends the connection at a DATA or HEADERS frame for a stream that the client has ended
  /// itself or never opened: RFC 9113, sections 5.1 and 5.1.1. nghttp2 ignores such a frame, and calls nobody.
  ///
  /// Whether a stream is open is known only when nghttp2 has read all that comes before. It is asked where that matters, which is
  /// not the case for a request that arrives whole.
  func feedInOrder(_ bytes: UnsafeRawBufferPointer) {
    let before = history.highest
    var highest = before
    var hasReset = false
    var fed = 0
    var offset = 0
    while let frame = scanner.next(bytes, &offset) {
      let id = frame.stream
      if UInt32(frame.type) == NGHTTP2_RST_STREAM.rawValue {
        hasReset = true
      } else if id > highest {
        highest = id
      } else if hasReset || (id <= before || id < highest) && stream(id) == nil {
        // A header that was cut began in the bytes before.
        let start = max(fed, offset - 9)
        feed(UnsafeRawBufferPointer(rebasing: bytes[fed..<start]))
        fed = start
        hasReset = false
        guard !isClosed, !mustClose else { return }
        if stream(id) == nil && !isTolerable(id) { return }
      }
    }
    feed(UnsafeRawBufferPointer(rebasing: bytes[fed...]))
  }

  /// Whether a frame for a stream that is not open may be ignored; if not, the connection ends.
  private func isTolerable(_ id: Int32) -> Bool {
    // Idle streams, and those that only a server could open, are nghttp2's to judge.
    guard id & 1 == 1, id <= history.highest else { return true }
    switch history.verdict(id) {
    case .late: return true
    case .ended: violated(.streamClosed, "a frame for stream \(id), which the peer had ended")
    case .neverOpened: violated(.protocolError, "a frame for stream \(id), which the peer had skipped")
    }
    isReadingPaused = true
    scheduleFlush()
    return false
  }

  /// The peer broke a rule: nothing more of it is read, and GOAWAY leaves at the end of the tick.
  func violated(_ code: HTTP2ErrorCode, _ message: String, as kind: HTTP2Error.Code = .protocolError) {
    failure = HTTP2Error(kind, message)
    nghttp2_session_terminate_session(session, code.rawValue)
  }

  // MARK: Called by nghttp2

  /// A frame that nghttp2 has answered with an error. HEADERS of a stream too many are such.
  func invalidFrame(_ header: nghttp2_frame_hd) -> Int32 {
    if role == .server && UInt32(header.type) == NGHTTP2_HEADERS.rawValue { history.refuse(header.stream_id) }
    return 0
  }
}
