internal import Buffers
internal import ConnectWire
internal import EventLoop
internal import HTTP2
internal import MessagesCore
internal import MessagesWire
internal import RPC
internal import RPCWire

/// Plain protobuf, read from and written to slots by whoever knows the type of the message: the hot path. Decoder and encoder are the
/// loop's: elsewhere there are no slots.
extension RPCServerCall {
  func requestSlots(_ descriptor: MessageDescriptor) throws(RPCError) -> MessageSlots? {
    guard isHome, let borrowedStream, !isAnswered, form.hasEnvelopes, case .proto = form.codec else { return nil }
    // A result instead of a throw, here and below: the closure's errors would have no type.
    return try borrowedStream._withUnsafeGuaranteedRef { stream in
      Result { () throws(RPCError) in try requestSlots(descriptor, of: stream) }
    }.get()
  }

  @inline(__always)
  private func requestSlots(_ descriptor: MessageDescriptor, of stream: HTTP2Stream) throws(RPCError) -> MessageSlots? {
    let inbound = stream.inbound
    let bytes = inbound.bytes
    // Whatever is not as usual is told apart elsewhere.
    guard case .complete(let envelope) = Envelope.parse(bytes, maximumBytes: maximumRequestBytes),
      envelope.flags == 0
    else { return nil }
    if case .unary = kind {
      guard envelope.end == bytes.count else { return nil }
    } else {
      // Its memory stays what it is until the next bytes come.
      inbound.removeFirst(envelope.end)
    }
    received(envelope.count)
    requestWasCompressed = false
    let content = UnsafeRawBufferPointer(rebasing: bytes[Envelope.prefixBytes..<envelope.end])
    do {
      return try server.borrowedDecoder._withUnsafeGuaranteedRef { decoder in
        Result { () throws(DecodeError) in try decoder.unpack(content, as: descriptor) }
      }.get()
    } catch {
      throw .undecodable(error)
    }
  }

  func finishRequest() {
    server.borrowedDecoder._withUnsafeGuaranteedRef { $0.finish() }
    if beginsAtHeaders { stream?.dropInbound() }
  }

  func responseSlots(_ descriptor: MessageDescriptor) throws(RPCError) -> SlotWriter? {
    // Who has to wait for room, or does without, is told so elsewhere.
    guard isHome, let borrowedStream, !isAnswered, form.hasPlainResponses, form.hasEnvelopes,
      borrowedStream._withUnsafeGuaranteedRef({ $0.hasRoom })
    else { return nil }
    do {
      return try server.borrowedEncoder._withUnsafeGuaranteedRef { encoder in
        Result { () throws(EncodeError) in try encoder.begin(descriptor) }
      }.get()
    } catch {
      throw .unencodable(error)
    }
  }

  func sendResponse(_ slots: SlotWriter) throws(RPCError) -> Bool {
    guard let borrowedStream, !isAnswered else { throw RPCError(.cancelled, "the call is over") }
    return try borrowedStream._withUnsafeGuaranteedRef { stream in
      Result { () throws(RPCError) in try send(slots, on: stream) }
    }.get()
  }

  @inline(__always)
  private func send(_ slots: SlotWriter, on stream: HTTP2Stream) throws(RPCError) -> Bool {
    try pack(slots, stream)
    guard case .unary = kind else { return try sent(on: stream) }
    precondition(!hasResponse, "a unary call has one response")
    hasResponse = true
    return true
  }
}
