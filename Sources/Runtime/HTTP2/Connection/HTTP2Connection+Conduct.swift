internal import CNghttp2
internal import EventLoop

extension HTTP2Connection {
  /// Counts something that the peer did without any use.
  ///
  /// - Returns: Whether it is one too many, so that the connection must ``end(for:)`` it.
  func count(_ glitch: Glitch) -> Bool {
    resources.statistics.glitches += 1
    return role == .server && failure == nil && conduct.abuse.add(glitch.cost, at: loop.now, resources.limits)
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

  /// Counts inside nghttp2 what came of one stream, or of none. nghttp2 stops reading when it is told of a failure.
  ///
  /// On a proxy's connection it is the stream's client that it counts against, and the connection goes on.
  func chargeInside(_ glitch: Glitch, of stream: HTTP2Stream?) -> Int32 {
    guard clients == nil else {
      if let stream { charge(glitch, toClientOf: stream) }
      return 0
    }
    guard count(glitch) else { return 0 }
    end(for: glitch)
    return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
  }

  // MARK: Resets

  /// The peer has reset a stream. What it costs depends on what it got: a call that was abandoned before any of its answer had left
  /// costs; one that its deadline ends, or whose answer is under way, does not.
  func resetReceived(_ id: Int32) -> Int32 {
    resources.statistics.resetsReceived += 1
    let stream = stream(id)
    stream?.isResetByPeer = true
    guard role == .server else { return 0 }
    if let stream {
      return stream.hasSentContent || isExpiring(stream) ? 0 : chargeInside(.reset, of: stream)
    }
    // A proxy passes on what its client wanted before the answer came: the stream, and whose it was, is gone.
    guard clients == nil, !conduct.takeExpired() else { return 0 }
    return chargeInside(.reset, of: nil)
  }

  /// A stream was closed with an error that the peer did not ask for: a reset has left.
  func countReset(of stream: HTTP2Stream) {
    resources.statistics.resetsSent += 1
    guard role == .server, !stream.isCharged else { return }
    guard !isExpiring(stream) else { return conduct.noteExpired() }
    guard clients == nil else { return charge(.malformedRequest, toClientOf: stream) }
    // Resets leave while nothing is read, hence there is nothing to stop.
    if count(.malformedRequest) { end(for: .malformedRequest) }
  }

  /// A stream was closed without an error: its response is complete.
  func completed(_ stream: HTTP2Stream) {
    guard role == .server else { return }
    conduct.abuse.completed()
    stream.client?.abuse.completed()
    if isExpiring(stream) { conduct.noteExpired() }
  }

  /// Whether the call's time is over, or as good as over.
  private func isExpiring(_ stream: HTTP2Stream) -> Bool { loop.now.nanoseconds >= stream.resetIsFreeFrom }

  // MARK: DATA

  /// DATA with padding, of which only nghttp2 knows how much there is.
  func judgePadding(_ frame: UnsafePointer<nghttp2_frame>) -> Int32 {
    let content = frame.pointee.hd.length - frame.pointee.data.padlen
    guard let glitch = Conduct.glitch(ofData: content) else { return 0 }
    return chargeInside(glitch, of: stream(frame.pointee.hd.stream_id))
  }

  /// DATA of a client behind a proxy.
  func judgeData(_ frame: UnsafePointer<nghttp2_frame>) -> Int32 {
    guard let glitch = Conduct.glitch(ofData: frame.pointee.hd.length) else { return 0 }
    return chargeInside(glitch, of: stream(frame.pointee.hd.stream_id))
  }

  // MARK: Clients behind a proxy

  /// The headers of a request are there, hence it is known whose it is.
  func meetClient(of stream: HTTP2Stream) {
    if stream.client == nil {
      let client = account(of: stream.headers)
      client.streams += 1
      stream.client = client
      stream.isUnwelcome = client.abuse.isOver(at: loop.now, resources.limits)
    }
    let block = fillsTrailers ? stream.trailers : stream.headers
    if block?.isTooLarge == true { charge(.longHeaders, toClientOf: stream) }
  }

  /// What a proxy passes on of one stream besides HEADERS, DATA and resets.
  func judgeForwarded(_ header: nghttp2_frame_hd) -> Int32 {
    guard header.stream_id != 0, let stream = stream(header.stream_id) else { return 0 }
    switch UInt32(header.type) {
    // One for each DATA frame is what a window takes.
    case NGHTTP2_WINDOW_UPDATE.rawValue: return stream.takeUpdate() ? 0 : chargeInside(.windowUpdate, of: stream)
    case NGHTTP2_PRIORITY.rawValue: return chargeInside(.priority, of: stream)
    default: return 0
    }
  }

  /// Counts against a client. One too many ends the stream that brought it, unless that is over anyway; what the client sends next is
  /// refused until the score has fallen.
  ///
  /// A request whose headers could not be read is nobody's, and costs no more than it took to find that out.
  private func charge(_ glitch: Glitch, toClientOf stream: HTTP2Stream) {
    resources.statistics.glitches += 1
    guard let client = stream.client, client.abuse.add(glitch.cost, at: loop.now, resources.limits) else { return }
    if stream.hasReceivedHeaders && !stream.isResetByPeer && !stream.isCharged {
      stream.isCharged = true
      stream.reset(.enhanceYourCalm)
    }
  }

  private func account(of headers: HeaderBlock) -> ClientAccount {
    guard let clients, let forwardedFor = headers.forwardedFor else { return ClientAccount() }
    return clients.account(of: forwardedFor, from: peer, at: loop.now, resources.limits)
  }
}
