internal import CNghttp2
internal import Glibc

extension HTTP2Connection {
  /// Gives a client's bytes to nghttp2, and ends the connection at a frame for a stream that the client has ended itself or never
  /// opened: RFC 9113, sections 5.1 and 5.1.1. nghttp2 ignores such a frame, and calls nobody. It also ends at the frame that is one
  /// of no use too many, of which nghttp2 never hears.
  ///
  /// Whether a stream is open is known only when nghttp2 has read all that comes before. It is asked where that matters, which is
  /// not the case for a request that arrives whole.
  func feedInOrder(_ bytes: UnsafeRawBufferPointer) {
    let before = history.highest
    var highest = before
    var hasReset = false
    var hasNewGap = false
    var fed = 0
    var offset = 0
    guard !mustClose else { return }
    if let cut = scanner.unfinished {
      // The rest of it comes first in these bytes: until it is fed, its stream is what it was before.
      hasReset = cut.type == NGHTTP2_RST_STREAM.rawValue
      if cut.type == NGHTTP2_HEADERS.rawValue && cut.stream > before {
        hasNewGap = cut.stream > before + 2
        highest = cut.stream
      }
    }
    while let frame = scanner.next(bytes, &offset) {
      let id = frame.stream
      if let glitch = glitch(of: frame), count(glitch) {
        if feed(bytes, from: &fed, toFrameBefore: offset) { end(for: glitch) }
        return
      }
      if UInt32(frame.type) > NGHTTP2_HEADERS.rawValue {
        hasReset = hasReset || UInt32(frame.type) == NGHTTP2_RST_STREAM.rawValue
        // A new gap is known once the request behind it has been read.
        if hasNewGap && id < highest {
          guard feed(bytes, from: &fed, toFrameBefore: offset) else { return }
          hasNewGap = false
        }
        if history.hasGaps && !isOpenable(frame) { return }
      } else if id > highest {
        hasNewGap = hasNewGap || id > highest + 2
        highest = id
      } else if hasReset || (id <= before || id < highest) && stream(id) == nil {
        guard feed(bytes, from: &fed, toFrameBefore: offset) else { return }
        hasReset = false
        if stream(id) == nil && !isTolerable(id) { return }
      }
    }
    feed(UnsafeRawBufferPointer(rebasing: bytes[fed...]))
  }

  /// Feeds what comes before the frame whose header ends at `offset`. A header that was cut began in the bytes before.
  ///
  /// - Returns: Whether the connection goes on.
  private func feed(_ bytes: UnsafeRawBufferPointer, from fed: inout Int, toFrameBefore offset: Int) -> Bool {
    let start = max(fed, offset - 9)
    feed(UnsafeRawBufferPointer(rebasing: bytes[fed..<start]))
    fed = start
    return !isClosed && !mustClose
  }

  /// What is of no use in a frame that is about to be fed.
  @inline(__always)
  private func glitch(of frame: FrameScanner.Header) -> Glitch? {
    if UInt32(frame.type) == NGHTTP2_DATA.rawValue {
      // Behind a proxy it is the stream's client that counts, once nghttp2 has found the stream.
      guard clients == nil else { return nil }
      // A short frame may well be the last one. How much of a padded one is padding stands in its payload.
      let silent = UInt8(NGHTTP2_FLAG_END_STREAM.rawValue | NGHTTP2_FLAG_PADDED.rawValue)
      guard frame.length < Conduct.tinyBytes, frame.flags & silent == 0 else { return nil }
      return Conduct.glitch(ofData: frame.length)
    }
    if UInt32(frame.type) == NGHTTP2_HEADERS.rawValue {
      conduct.work &+= 1
      conduct.continuations = 0
      return nil
    }
    if clients != nil && frame.stream != 0 && UInt32(frame.type) != NGHTTP2_CONTINUATION.rawValue { return nil }
    let times = clients == nil ? 1 : SessionOptions.sharedContinuations
    return conduct.glitch(of: frame, continuations: resources.limits.continuations * times)
  }

  /// Whether a frame that names a stream names one that was not skipped: RST_STREAM and WINDOW_UPDATE may be late, but not for a
  /// stream that never was. If it did, the connection ends.
  private func isOpenable(_ frame: FrameScanner.Header) -> Bool {
    let type = UInt32(frame.type)
    guard type == NGHTTP2_RST_STREAM.rawValue || type == NGHTTP2_WINDOW_UPDATE.rawValue else { return true }
    let id = frame.stream
    guard id & 1 == 1, id < history.highest, history.verdict(id) == .neverOpened else { return true }
    violated(.protocolError, "a frame for stream \(id), which the peer had skipped")
    return false
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
    return false
  }

  /// The peer broke a rule: nothing more of it is read, and GOAWAY leaves at the end of the tick.
  func violated(_ code: HTTP2ErrorCode, _ message: String, as kind: HTTP2Error.Code? = nil) {
    guard failure == nil else { return }
    if code == .enhanceYourCalm { resources.statistics.connectionsEndedForAbuse += 1 }
    failure = HTTP2Error(kind ?? (code == .enhanceYourCalm ? .abuse : .protocolError), message)
    nghttp2_session_terminate_session(session, code.rawValue)
    scheduleFlush()
  }

  // MARK: Called by nghttp2

  /// A frame that nghttp2 has answered with an error. HEADERS of a stream too many are such, and HEADERS that are malformed.
  func invalidFrame(_ header: nghttp2_frame_hd, _ error: Int32) -> Int32 {
    refusal = error
    guard role == .server, UInt32(header.type) == NGHTTP2_HEADERS.rawValue else { return 0 }
    history.refuse(header.stream_id)
    let stream = stream(header.stream_id)
    stream?.isCharged = true
    if stream == nil { resources.statistics.resetsSent += 1 }
    return chargeInside(.malformedRequest, of: stream)
  }
}
