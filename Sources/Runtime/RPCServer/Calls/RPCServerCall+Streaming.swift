internal import Buffers
internal import ConnectWire
internal import HTTP2
internal import MessagesCore
internal import RPC
internal import RPCWire

extension RPCServerCall {
  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M? {
    while true {
      guard let stream, !isAnswered else { throw RPCError(.cancelled, "the call is over") }
      let bytes = stream.inbound.bytes
      switch Envelope.parse(bytes, maximumBytes: maximumRequestBytes) {
      case .complete(let envelope):
        let message: M = try decode(envelope, bytes)
        stream.inbound.removeFirst(envelope.end)
        stream.taken()
        return message
      case .tooLarge(let size):
        throw tooLarge(size)
      case .empty where stream.isRemoteClosed:
        return nil
      case .incomplete where stream.isRemoteClosed:
        throw RPCError(.internal, "the last request message is cut off")
      case .empty: await nextBytes(stream)
      case .incomplete(let total):
        await nextBytes(stream) { stream.openWindow(toHold: total) }
      }
    }
  }

  /// What was taken lets the peer send more, told once per suspension instead of once per message.
  func nextBytes(_ stream: HTTP2Stream, _ first: () -> Void = {}) async {
    stream.openWindowForTaken()
    first()
    await withUnsafeContinuation { receivers.append($0) }
  }

  func sendInitialMetadata() {
    guard let stream, !isAnswered, kind == .serverStreaming || kind == .bidirectional else { return }
    negotiate(stream)
    sendHeaders(stream)
    stream.outboundGrew()
  }

  func send<M: Message>(_ message: M) async throws(RPCError) {
    while let stream, !isAnswered, !stream.hasRoom {
      stream.notifyWhenRoom()
      await withUnsafeContinuation { writers.append($0) }
    }
    guard let stream, !isAnswered else { throw RPCError(.cancelled, "the call is over") }
    try encode(message, stream)
    if !sent(on: stream) { await roomToSend() }
  }

  /// A message was added to what the stream has to send.
  ///
  /// - Returns: Whether there is room for more.
  func sent(on stream: HTTP2Stream) -> Bool {
    guard kind != .clientStreaming else {
      hasResponse = true
      return true
    }
    if !hasSentHeaders { sendHeaders(stream) }
    stream.outboundGrew()
    return stream.outbound.count <= server.configuration.http2.streamOutputBytes
  }

  func roomToSend() async {
    guard let stream, !isAnswered, stream.outbound.count > server.configuration.http2.streamOutputBytes else { return }
    // Woken while there still is something to send, so that the stream does not run dry.
    stream.notifyWhenDrained(to: server.configuration.http2.streamOutputBytes / 2)
    await withUnsafeContinuation { writers.append($0) }
  }
}
