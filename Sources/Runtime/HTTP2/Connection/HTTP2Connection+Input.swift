internal import Buffers
internal import CNghttp2
package import EventLoop
internal import Glibc

extension HTTP2Connection {
  package func descriptorIsReady(_ readiness: Readiness) {
    if readiness.contains(.writable) { scheduleFlush() }
    if readiness.contains(.readable) || readiness.contains(.failed) {
      readSocket()
      // What was answered while it was read leaves at once: the caller does not wait for the other connections' turns, and the next
      // of them finds the streams and buffers of this one free, and still in the processor's cache.
      if hasAnswered { flushNow() }
    }
  }

  /// Reads what the socket holds, at most a few buffers of it, so that the loop's other connections have their turn.
  private func readSocket() {
    for _ in 0..<4 {
      guard !isClosed, !isReadingPaused, !mustClose else { return }
      let count = recv(descriptor, resources.readBuffer.baseAddress, resources.readBuffer.count, 0)
      if count > 0 {
        received(UnsafeRawBufferPointer(rebasing: resources.readBuffer[..<count]))
        if count < resources.readBuffer.count { break }
      } else if count == 0 {
        tls?.transportEnded()
        return close(streams.isEmpty ? nil : HTTP2Error(.connectionClosed, "the peer closed the connection"))
      } else if errno == EAGAIN || errno == EWOULDBLOCK {
        break
      } else if errno != EINTR {
        return close(HTTP2Error(.connectionClosed, String(cString: strerror(errno))))
      }
    }
  }

  private func received(_ bytes: UnsafeRawBufferPointer) {
    guard let tls else { return received(plaintext: bytes) }
    var ciphertext = bytes
    let plaintext = resources.plaintext()
    var isPlaintext = false
    while !isClosed {
      let event = tls.receive(&ciphertext, into: plaintext, output: resources.records)
      flushRecords()
      // The socket may have failed just now.
      guard !isClosed else { return }
      switch event {
      case .needsInput: return noteRecord(isAmid: tls.isAmidRecord, isAnother: isPlaintext)
      case .established:
        peerCertificate = tls.peerCertificate
        openSession()
      case .plaintext(let count):
        isPlaintext = true
        received(plaintext: UnsafeRawBufferPointer(rebasing: plaintext[..<count]))
      case .closed: return close(streams.isEmpty ? nil : HTTP2Error(.connectionClosed, "the peer closed the connection"))
      case .failed: return close(HTTP2Error(.tlsFailed, tls.failure?.description ?? "TLS failed"))
      }
    }
  }

  private func received(plaintext bytes: UnsafeRawBufferPointer) {
    guard role == .server else { return feed(bytes) }
    feedInOrder(bytes)
    noteHeaders()
  }

  func startTLS() {
    tls?.start(output: resources.records)
    let records = resources.records
    guard !records.isEmpty else { return }
    // Sent when the socket is connected: a failure found now would come before anybody knows this connection.
    let waiting = ByteBuffer(capacity: records.count)
    waiting.append(records.bytes)
    records.removeAll()
    backlog = waiting
    watch?.setInterest([.readable, .writable])
  }

  /// Gives bytes to nghttp2, whose callbacks run before this returns.
  func feed(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress, !bytes.isEmpty, !isClosed, !mustClose else { return }
    isFeeding = true
    let result = nghttp2_session_mem_recv(session, base.assumingMemoryBound(to: UInt8.self), bytes.count)
    isFeeding = false
    for stream in borrowingStreams { stream._withUnsafeGuaranteedRef { $0.inbound.own() } }
    borrowingStreams.removeAll(keepingCapacity: true)
    lastActivity = loop.now
    if closesAfterFeed { return close() }
    if result < 0 && failure == nil { readFailed(Int32(result)) }
    scheduleFlush()
  }

  private func readFailed(_ result: Int32) {
    if result == NGHTTP2_ERR_FLOODED.rawValue && role == .server { return end(for: .unreadAnswers) }
    failure = HTTP2Error(.protocolError, String(cString: nghttp2_strerror(result)))
  }

  // MARK: Called by nghttp2

  func beginHeaders(_ frame: UnsafePointer<nghttp2_frame>) -> Int32 {
    let id = frame.pointee.hd.stream_id
    if role == .server && frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
      let stream = resources.takeStream(for: self)
      stream.open(id: id, on: self)
      add(stream)
      let reference = Unmanaged.passUnretained(stream)
      nghttp2_session_set_stream_user_data(session, id, reference.toOpaque())
      headersStream = reference
      headersBlock = Unmanaged.passUnretained(stream.headers)
      fillsTrailers = false
      history.open(id)
      resources.statistics.streamsOpened &+= 1
      delegate?.connection(self, opened: stream)
      return 0
    }
    let stream = stream(id)
    headersStream = stream.map(Unmanaged.passUnretained)
    fillsTrailers = stream?.hasReceivedHeaders ?? false
    if fillsTrailers { stream?.trailers = HeaderBlock() } else { stream?.headers.reset() }
    headersBlock = (fillsTrailers ? stream?.trailers : stream?.headers).map(Unmanaged.passUnretained)
    return 0
  }

  func add(_ stream: HTTP2Stream) {
    stream.index = streams.count
    streams.append(stream)
  }

  @inline(__always)
  func header(_ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>, _ valueCount: Int) -> Int32 {
    guard let headersBlock else { return 0 }
    let fits = headersBlock._withUnsafeGuaranteedRef { $0.append(name, nameCount, value, valueCount, limit: headerListBytes) }
    return fits ? 0 : headersOverflowed(headersBlock)
  }

  /// A few bytes of HPACK can repeat a field without end: far over the limit nothing good can follow.
  private func headersOverflowed(_ block: Unmanaged<HeaderBlock>) -> Int32 {
    // Whose list it is may stand at its end.
    guard clients == nil else { return 0 }
    let most = headerListBytes * resources.limits.headerListTolerance
    guard block._withUnsafeGuaranteedRef({ $0.listBytes }) > most else {
      let id = headersStream.map { $0._withUnsafeGuaranteedRef { $0.id } } ?? 0
      guard id != longHeadersStream else { return 0 }
      longHeadersStream = id
      return chargeInside(.longHeaders, of: nil)
    }
    violated(.enhanceYourCalm, "a header list of more than \(most) bytes")
    return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
  }

  func dataChunk(_ id: Int32, _ bytes: UnsafeRawBufferPointer) -> Int32 {
    unreportedBytes += bytes.count
    guard let reference = reference(id) else { return 0 }
    reference._withUnsafeGuaranteedRef { stream in
      stream.unopenedBytes += bytes.count
      if stream.inbound.append(bytes) { borrowingStreams.append(reference) }
      stream.handler?.streamReceivedData(stream)
      countInbound(stream)
    }
    return 0
  }

  func frameReceived(_ frame: UnsafePointer<nghttp2_frame>) -> Int32 {
    let header = frame.pointee.hd
    switch UInt32(header.type) {
    case NGHTTP2_DATA.rawValue:
      if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0, let reference = reference(header.stream_id) {
        reference._withUnsafeGuaranteedRef { remoteEnded($0) }
      } else if header.flags & UInt8(NGHTTP2_FLAG_PADDED.rawValue) != 0 {
        return judgePadding(frame)
      } else if clients != nil {
        return judgeData(frame)
      }
    case NGHTTP2_HEADERS.rawValue:
      headersStream?._withUnsafeGuaranteedRef { headersReceived($0, header) }
    case NGHTTP2_RST_STREAM.rawValue:
      return resetReceived(header.stream_id)
    case NGHTTP2_SETTINGS.rawValue:
      if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 { becameReady() }
    case NGHTTP2_PING.rawValue:
      if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 { pingAnswered(frame) }
    case NGHTTP2_GOAWAY.rawValue:
      hasPeerLeft = true
      if role == .client { goaway = HTTP2Goaway(frame.pointee.goaway) }
      if role == .client && !isDraining {
        isDraining = true
        delegate?.connectionIsDraining(self)
        giveBackUnsent()
      }
    default:
      return clients == nil ? 0 : judgeForwarded(header)
    }
    return 0
  }

  private func headersReceived(_ stream: HTTP2Stream, _ header: nghttp2_frame_hd) {
    guard stream.id == header.stream_id else { return }
    headersStream = nil
    headersBlock = nil
    // An interim response (1xx) is followed by another header list.
    let isInterim = role == .client && !fillsTrailers && (stream.headers.value(.status)?.first == UInt8(ascii: "1"))
    guard !isInterim else { return }
    if clients != nil { meetClient(of: stream) }
    if !fillsTrailers { stream.hasReceivedHeaders = true }
    stream.handler?.streamReceivedHeaders(stream)
    if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0, !stream.isClosed { remoteEnded(stream) }
  }

  /// A frame that nghttp2 could not send. Without its header list a stream would wait for ever, so it ends.
  func frameNotSent(_ frame: UnsafePointer<nghttp2_frame>, _ error: Int32) -> Int32 {
    guard UInt32(frame.pointee.hd.type) == NGHTTP2_HEADERS.rawValue else { return 0 }
    guard role == .server else {
      // nghttp2 closes the stream of a request that may not go any more. A header list that is too long would never go.
      let mayGoElsewhere =
        frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST && error != NGHTTP2_ERR_FRAME_SIZE_ERROR.rawValue
        && error != NGHTTP2_ERR_HEADER_COMP.rawValue
      if mayGoElsewhere { stream(frame.pointee.hd.stream_id)?.isUnsent = true }
      return 0
    }
    guard error != NGHTTP2_ERR_STREAM_CLOSED.rawValue, error != NGHTTP2_ERR_STREAM_CLOSING.rawValue else { return 0 }
    nghttp2_submit_rst_stream(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), frame.pointee.hd.stream_id, HTTP2ErrorCode.internalError.rawValue)
    return 0
  }

  /// Requests that wait for room need not wait for the streams before them to learn that this peer takes no more. nghttp2 drops
  /// them when their turn would come, so that until then the streams stay.
  private func giveBackUnsent() {
    for stream in streams where nghttp2_session_find_stream(session, stream.id) == nil {
      stream.isUnsent = true
      let handler = stream.handler
      stream.handler = nil
      handler?.streamClosed(stream, .refusedStream)
    }
  }

  private func remoteEnded(_ stream: HTTP2Stream) {
    guard !stream.isRemoteClosed else { return }
    stream.isRemoteClosed = true
    stream.handler?.streamReceivedEnd(stream)
  }

  func streamClosed(_ id: Int32, _ error: HTTP2ErrorCode) -> Int32 {
    reference(id)?._withUnsafeGuaranteedRef { stream in
      guard !stream.isClosed else { return }
      if role == .server && !stream.isRemoteClosed && !stream.isResetByPeer { history.abandon(id) }
      if !stream.isResetByPeer { if error == .noError { completed(stream) } else { countReset(of: stream) } }
      remove(stream, error)
    }
    return 0
  }

  @inline(__always)
  func stream(_ id: Int32) -> HTTP2Stream? { reference(id)?.takeUnretainedValue() }

  /// An open stream, for those who need it only while they run: nothing counts references.
  @inline(__always)
  func reference(_ id: Int32) -> Unmanaged<HTTP2Stream>? {
    guard let pointer = nghttp2_session_get_stream_user_data(session, id) else { return nil }
    // SAFETY: `streams` holds the stream until nghttp2 has told that it is closed, and `closedStreams` to the end of the tick.
    return Unmanaged<HTTP2Stream>.fromOpaque(pointer)
  }
}
