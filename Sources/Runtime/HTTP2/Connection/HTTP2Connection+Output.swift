internal import Buffers
internal import CNghttp2
internal import CShims
internal import EventLoop
internal import Glibc

extension HTTP2Connection {
  /// Has everything that is ready to be sent leave at the end of this tick.
  func scheduleFlush() {
    needsFlush = true
    guard !isFlushScheduled, !isClosed else { return }
    isFlushScheduled = true
    loop.atEndOfTick(self)
  }

  package func endOfTick() {
    isFlushScheduled = false
    if needsFlush { flushNow() }
  }

  /// Sends what is ready to be sent. Not for nghttp2's callbacks.
  func flushNow() {
    hasAnswered = false
    needsFlush = false
    guard !isClosed else { return }
    flush()
    guard !isClosed else { return }
    reclaimStreams()
    if role == .server { settle() }
    if unreportedBytes > 0 && backlog == nil && mayOpenWindow { scheduleFlush() }
  }

  private func flush() {
    guard writeBacklog() else {
      if session != nil && !isClosed { boundOutput() }
      return
    }
    guard session != nil else { return }
    reportConsumption()
    sendFrames()
    if !unreadRequests.isEmpty && !isClosed { awaitUnreadRequests() }
    guard !isClosed else { return }
    boundOutput()
    guard backlog == nil, mustClose || isDrained || isFinished else { return }
    close(failure ?? brokenRule)
  }

  private func sendFrames() {
    repeat {
      let result = nghttp2_session_send(session)
      if result != 0 && failure == nil {
        failure = HTTP2Error(.protocolError, String(cString: nghttp2_strerror(result)))
      }
      guard !resources.frames.isEmpty else { break }
      writeFrames()
    } while !isClosed && backlog == nil
  }

  /// nghttp2 has nothing more to read or to write: after a GOAWAY, or an error that it told the peer about.
  private var isFinished: Bool { nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0 }

  /// Why nghttp2 ended a connection that nobody else wanted to end. The peer was told with GOAWAY; this is for the log.
  private var brokenRule: HTTP2Error? {
    guard role == .server, drainPhase == 0, !hasPeerLeft else { return nil }
    return HTTP2Error(.protocolError, refusal == 0 ? "a rule of HTTP/2 was broken" : String(cString: nghttp2_strerror(refusal)))
  }

  /// Tells the peer how much more it may send, once per tick instead of once per request. All that came counts as consumed, taken
  /// or not, until too much waits: a stream that nobody reads must not keep the others from their requests.
  private func reportConsumption() {
    guard unreportedBytes > 0, mayOpenWindow else { return }
    nghttp2_session_consume_connection(session, unreportedBytes)
    unreportedBytes = 0
  }

  func openWindow(_ stream: HTTP2Stream, _ count: Int) {
    if !stream.isRemoteClosed && !stream.isClosed { nghttp2_session_consume_stream(session, stream.id, count) }
    scheduleFlush()
  }

  /// What a frame that waits inside nghttp2 takes, rounded up to its allocator's class.
  private static let queuedFrameBytes = 256

  /// A peer that makes us answer more than it reads is not read from until it has caught up.
  private func boundOutput() {
    let pauses = (backlog.map(isTooMuch) ?? false) || mustClose
    guard !isClosed else { return }
    if pauses != isReadingPaused {
      isReadingPaused = pauses
      updateInterest()
    }
  }

  /// Whether more waits behind `backlog` than the peer may leave there. Far more ends the connection: what waits then comes of calls
  /// that were read long before.
  private func isTooMuch(_ backlog: ByteBuffer) -> Bool {
    let limits = resources.limits
    let frames = nghttp2_session_get_outbound_queue_size(session)
    if frames > limits.queuedFrames * 2 {
      resources.statistics.connectionsEndedForAbuse += 1
      close(HTTP2Error(.abuse, "too_many_queued_frames"))
    } else if mustClose && !isLeaving {
      isLeaving = true
      loop.arm(timer, after: limits.farewellTime)
    }
    return frames > limits.queuedFrames || backlog.count + frames * Self.queuedFrameBytes > limits.outputBytes
  }

  private func updateInterest() {
    var interest: Readiness = isReadingPaused ? [] : .readable
    if backlog != nil { interest.insert(.writable) }
    watch?.setInterest(interest)
  }

  // MARK: The socket

  /// Sends what the socket did not take before.
  ///
  /// - Returns: Whether there is room for more.
  private func writeBacklog() -> Bool {
    guard let backlog else { return true }
    while !backlog.isEmpty {
      let count = send(descriptor, backlog.bytes.baseAddress, backlog.count, Int32(MSG_NOSIGNAL))
      if count >= 0 {
        backlog.removeFirst(count)
        vigil.socketProgress += count
      } else if errno == EAGAIN || errno == EWOULDBLOCK {
        updateInterest()
        return false
      } else if errno != EINTR {
        close(HTTP2Error(.connectionClosed, String(cString: strerror(errno))))
        return false
      }
    }
    self.backlog = nil
    updateInterest()
    return true
  }

  private func writeFrames() {
    let frames = resources.frames
    if let tls {
      let isWritten = tls.write(frames.bytes, output: resources.records)
      frames.reset()
      flushRecords()
      if !isWritten && !isClosed { close(HTTP2Error(.tlsFailed, tls.failure?.description ?? "TLS failed")) }
    } else {
      write(frames.bytes)
      frames.reset()
    }
  }

  /// Sends what TLS has put into the loop's record buffer.
  func flushRecords() {
    let records = resources.records
    guard !records.isEmpty else { return }
    write(records.bytes)
    records.removeAll()
  }

  private func write(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes
    // Bytes must not overtake those that wait already.
    while backlog == nil && !rest.isEmpty && !isClosed {
      let count = send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
      if count >= 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      } else if errno == EAGAIN || errno == EWOULDBLOCK {
        break
      } else if errno != EINTR {
        return close(HTTP2Error(.connectionClosed, String(cString: strerror(errno))))
      }
    }
    guard !rest.isEmpty, !isClosed else { return }
    let waiting = backlog ?? ByteBuffer(capacity: rest.count)
    backlog = waiting
    waiting.append(rest)
    updateInterest()
  }

  // MARK: Called by nghttp2

  func take(_ data: UnsafePointer<UInt8>?, _ length: Int) -> Int {
    frames._withUnsafeGuaranteedRef { frames in
      guard frames.count < HTTP2LoopResources.writeBytes else { return Int(NGHTTP2_ERR_WOULDBLOCK.rawValue) }
      frames.append(UnsafeRawBufferPointer(start: data, count: length))
      return length
    }
  }

  func takeData(_ header: UnsafePointer<UInt8>, _ stream: HTTP2Stream, _ length: Int, padding: Int) -> Int32 {
    frames._withUnsafeGuaranteedRef { frames in
      guard frames.count < HTTP2LoopResources.writeBytes else { return NGHTTP2_ERR_WOULDBLOCK.rawValue }
      if length >= Conduct.usefulBytes || length == stream.outbound.count { conduct.work &+= 1 }
      frames.append(UnsafeRawBufferPointer(start: header, count: 9))
      if padding > 0 { frames.append(UInt8(padding - 1)) }
      frames.append(UnsafeRawBufferPointer(start: stream.outbound.bytes.baseAddress, count: length))
      if padding > 1 {
        memset(frames.reserve(padding - 1), 0, padding - 1)
        frames.commit(padding - 1)
      }
      held.outbound -= length
      stream.sent(length)
      return 0
    }
  }

  // MARK: Called by streams

  func submitResponse(_ stream: HTTP2Stream, _ headers: HeaderList, endsStream: Bool) {
    hasAnswered = true
    if endsStream {
      nghttp2_submit_response(session, stream.id, headers.fields, headers.count, nil)
    } else {
      var provider = SessionCallbacks.dataProvider(stream)
      nghttp2_submit_response(session, stream.id, headers.fields, headers.count, &provider)
    }
    scheduleFlush()
  }

  func submitTrailers(_ stream: HTTP2Stream, _ trailers: HeaderList) {
    nghttp2_submit_trailer(session, stream.id, trailers.fields, trailers.count)
  }

  func submitReset(_ stream: HTTP2Stream, _ error: HTTP2ErrorCode) {
    nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, error.rawValue)
    scheduleFlush()
  }

  func resumeData(_ stream: HTTP2Stream) {
    nghttp2_session_resume_data(session, stream.id)
    scheduleFlush()
  }
}
