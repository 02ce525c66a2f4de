internal import Buffers
internal import ConnectWire
internal import HTTP2
internal import MessagesCore
internal import MessagesWire
internal import RPC
internal import RPCWire

/// Plain protobuf, read from and written to slots by whoever knows the type of the message: the hot path.
extension RPCServerCall {
  func requestSlots(_ descriptor: MessageDescriptor) throws(RPCError) -> MessageSlots? {
    guard let stream, !isAnswered, form.hasEnvelopes, case .proto = form.codec else { return nil }
    let bytes = stream.inbound.bytes
    // Whatever is not as usual is told apart elsewhere.
    guard case .complete(let envelope) = Envelope.parse(bytes, maximumBytes: server.configuration.maximumRequestBytes),
      envelope.flags == 0
    else { return nil }
    if case .unary = kind {
      guard envelope.end == bytes.count else { return nil }
    } else {
      // Its memory stays what it is until the next bytes come.
      stream.inbound.removeFirst(envelope.end)
    }
    traffic.received += envelope.count
    requestWasCompressed = false
    do {
      return try server.decoder.unpack(
        UnsafeRawBufferPointer(rebasing: bytes[Envelope.prefixBytes..<envelope.end]), as: descriptor)
    } catch {
      throw .undecodable(error)
    }
  }

  func finishRequest() { server.decoder.finish() }

  func responseSlots(_ descriptor: MessageDescriptor) throws(RPCError) -> SlotWriter? {
    guard !isAnswered, form.hasPlainResponses, form.hasEnvelopes else { return nil }
    do {
      return try server.encoder.begin(descriptor)
    } catch {
      throw .unencodable(error)
    }
  }

  func sendResponse(_ slots: SlotWriter) throws(RPCError) -> Bool {
    guard let stream, !isAnswered else { throw RPCError(.cancelled, "the call is over") }
    try pack(slots, stream)
    guard case .unary = kind else { return sent(on: stream) }
    precondition(!hasResponse, "a unary call has one response")
    hasResponse = true
    return true
  }
}
