internal import CNghttp2
internal import EventLoop

extension HTTP2Connection {
  /// Counts something that the peer did without any use.
  ///
  /// - Returns: Whether it is one too many, so that the connection must ``end(for:)`` it.
  func count(_ glitch: Glitch) -> Bool {
    resources.statistics.glitches += 1
    return role == .server && failure == nil && conduct.add(glitch, at: loop.now, resources.limits)
  }

  /// Ends the connection: nothing more is read, and GOAWAY with the cause leaves at the end of the tick.
  func end(for glitch: Glitch) {
    resources.statistics.connectionsEndedForAbuse += 1
    let cause = glitch.cause
    failure = HTTP2Error(.abuse, "\(cause)")
    nghttp2_submit_goaway(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nghttp2_session_get_last_proc_stream_id(session),
      NGHTTP2_ENHANCE_YOUR_CALM.rawValue, cause.utf8Start, cause.utf8CodeUnitCount)
    scheduleFlush()
  }

  /// Counts inside nghttp2, which stops reading when it is told of a failure.
  func chargeInside(_ glitch: Glitch) -> Int32 {
    guard count(glitch) else { return 0 }
    end(for: glitch)
    return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
  }

  /// A stream was closed with an error that the peer did not ask for: a reset has left.
  func countReset(of stream: HTTP2Stream) {
    resources.statistics.resetsSent += 1
    // Resets leave while nothing is read, hence there is nothing to stop.
    if role == .server && !stream.isCharged && count(.malformedRequest) { end(for: .malformedRequest) }
  }

  /// DATA with padding, of which only nghttp2 knows how much there is.
  func judgePadding(_ frame: UnsafePointer<nghttp2_frame>) -> Int32 {
    let content = frame.pointee.hd.length - frame.pointee.data.padlen
    guard let glitch = Conduct.glitch(ofData: content) else { return 0 }
    return chargeInside(glitch)
  }
}
