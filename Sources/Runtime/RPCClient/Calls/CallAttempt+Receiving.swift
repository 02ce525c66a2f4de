internal import Buffers
internal import Compression
internal import HTTP2
internal import MessagesCore
internal import RPC
internal import RPCWire

extension CallAttempt {
  // MARK: When bytes come

  /// Looks at what has come as far as the call's kind and format need it before somebody asks.
  func noteData(_ stream: HTTP2Stream) {
    if plan.wire == .connectUnary {
      collectBody(stream)
    } else if plan.hasOneResponse || plan.wire.endsInBody {
      scan(stream)
    }
    guard outcome == nil, !plan.hasOneResponse, !receivers.isEmpty else { return }
    // A message of which only a part has come is no reason to wake anybody.
    guard case .incomplete(let total) = peek() else { return wake(&receivers) }
    acceptMore(stream, total)
  }

  /// Finds the end of a call within its body, and the message too many of a call that has one.
  private func scan(_ stream: HTTP2Stream) {
    while outcome == nil {
      let bytes = stream.inbound.bytes
      switch next(bytes, from: scannedBytes) {
      case .message(let frame):
        scannedBytes = frame.end
        scannedMessages += 1
        if plan.hasOneResponse && scannedMessages > 1 { abandon(.tooManyResponses) }
      case .end(let frame):
        var end = judged(ResponseEnd.inBody(UnsafeRawBufferPointer(rebasing: bytes[frame.start..<frame.end]), frame, self))
        if bytes.count > frame.end, end.error == nil { end.error = .overrun }
        finish(end)
      case .incomplete(let total):
        if plan.hasOneResponse { acceptMore(stream, total) }
        return
      // A stream delivers what came before; whoever reads it comes to this.
      case .tooLarge(let size):
        if plan.hasOneResponse { abandon(.messageTooLarge(size, limit: plan.maximumResponseBytes)) }
        return
      case .malformed(let error):
        if plan.hasOneResponse { abandon(error) }
        return
      }
    }
  }

  private func collectBody(_ stream: HTTP2Stream) {
    // Errors have their own size.
    let limit = max(plan.maximumResponseBytes, stream.headers.value(.status, is: "200") ? 0 : 64 << 10)
    if stream.inbound.count > limit {
      abandon(.messageTooLarge(stream.inbound.count, limit: plan.maximumResponseBytes))
    } else {
      stream.openWindow(stream.unopenedBytes)
    }
  }

  /// The rest of a message is bounded and must be able to come.
  private func acceptMore(_ stream: HTTP2Stream, _ total: Int) {
    guard stream.unopenedBytes > 0 else { return }
    if total > 64 << 10 { stream.inbound.reserve(total) }
    stream.openWindow(stream.unopenedBytes)
  }

  /// A success of a call that has one response is one only with exactly that response.
  func judged(_ end: CallOutcome) -> CallOutcome {
    guard end.error == nil, plan.hasOneResponse, plan.wire != .connectUnary else { return end }
    var end = end
    if !plan.wire.endsInBody && scannedBytes < inbound.count {
      end.error = .cutOff
    } else if scannedMessages == 0 {
      end.error = .noResponse
    }
    return end
  }

  // MARK: When somebody asks

  private func next(_ bytes: UnsafeRawBufferPointer, from start: Int) -> InboundFrame.Next {
    InboundFrame.next(bytes, from: start, plan.wire, responseCompression, limit: plan.maximumResponseBytes)
  }

  private func peek() -> InboundFrame.Next {
    guard plan.wire == .connectUnary else { return next(inbound, from: 0) }
    guard outcome != nil, !hasTakenBody else { return .incomplete(total: 0) }
    let count = inbound.count
    return .message(InboundFrame(flags: responseCompression == .identity || count == 0 ? 0 : 1, start: 0, end: count))
  }

  /// Bytes of messages that nobody has taken yet, without their prefixes.
  var waitingBytes: Int {
    guard plan.wire != .connectUnary else { return inbound.count }
    var (bytes, offset) = (0, 0)
    while case .message(let frame) = next(inbound, from: offset) {
      bytes += frame.end - frame.start
      offset = frame.end
    }
    return bytes
  }

  /// Waits for the next message; nil after the last of a call that succeeded.
  func nextMessage() async throws(RPCError) -> InboundFrame? {
    while true {
      if let abandonment { throw abandonment }
      if plan.hasOneResponse {
        guard let outcome else {
          await waitForProgress()
          continue
        }
        if let error = outcome.error { throw error }
      }
      switch peek() {
      case .message(let frame): return frame
      case .tooLarge(let size): throw spoiled(.messageTooLarge(size, limit: plan.maximumResponseBytes))
      case .malformed(let error): throw spoiled(error)
      case .end, .incomplete:
        guard let outcome else { break }
        if let error = outcome.error { throw error }
        if case .incomplete = peek(), !inbound.isEmpty { throw spoiled(.cutOff) }
        return nil
      }
      // What was taken lets the server send more, told once per suspension instead of once per message.
      if let stream { stream.openWindow(stream.unopenedBytes) }
      await waitForProgress()
    }
  }

  private func spoiled(_ error: RPCError) -> RPCError {
    spoil(error)
    return outcome?.error ?? error
  }

  /// Takes a message that ``nextMessage()`` has just found.
  func take<Value>(
    _ frame: InboundFrame, _ body: (UnsafeRawBufferPointer) throws(RPCError) -> Value
  ) throws(RPCError) -> Value {
    responseWasCompressed = frame.isCompressed
    do throws(RPCError) {
      let bytes = UnsafeRawBufferPointer(rebasing: inbound[frame.start..<frame.end])
      let value =
        frame.isCompressed
        ? try part.coding.restoring(bytes, responseCompression, maximumBytes: plan.maximumResponseBytes, body) : try body(bytes)
      removeFirst(frame.end)
      takenBytes += frame.end - frame.start
      hasTakenBody = true
      if scannedBytes > 0 {
        scannedBytes -= frame.end
        scannedMessages -= 1
      }
      return value
    } catch {
      throw spoiled(error)
    }
  }

  /// The next response, decoded.
  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M? {
    guard let frame = try await nextMessage() else { return nil }
    return try take(frame) { (bytes) throws(RPCError) in try part.coding.response(type, bytes, plan.codec) }
  }

  /// The next response as bytes.
  func receivePayload() async throws(RPCError) -> [UInt8]? {
    guard let frame = try await nextMessage() else { return nil }
    return try take(frame) { [UInt8]($0) }
  }

  /// The message of an attempt that has succeeded with one.
  func endedMessage() -> InboundFrame? {
    guard case .message(let frame) = peek() else { return nil }
    return frame
  }

  /// The response's headers, as soon as they have come; those of a call that ended without any are empty.
  func headers() async throws(RPCError) -> Metadata {
    while true {
      if let initialMetadata { return initialMetadata }
      if let outcome {
        if let error = outcome.error { throw error }
        return Metadata()
      }
      await waitForProgress()
    }
  }
}

extension RPCError {
  static var tooManyResponses: RPCError { RPCError(.unimplemented, "the server sent more than one response") }
  static var noResponse: RPCError { RPCError(.unimplemented, "the server sent no response") }
  static var overrun: RPCError { RPCError(.internal, "the server sent more after it had ended the call") }
  static var cutOff: RPCError { RPCError(.internal, "the response is cut off") }
}
