internal import Buffers
internal import ConnectWire
internal import EventLoop
internal import HTTP2
internal import MessagesCore
internal import RPC
internal import RPCWire

extension RPCServerCall {
  func receive<M: Message>(_ type: M.Type) async throws(RPCError) -> M? {
    while true {
      guard isHome else {
        return try await server.loop.visit { () async throws(RPCError) in try await self.receive(type) }
      }
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
    guard isHome else {
      server.loop.execute { self.sendInitialMetadata() }
      return
    }
    guard let stream, !isAnswered, kind == .serverStreaming || kind == .bidirectional else { return }
    // What may not be sent ends the call with the first response, or with the status.
    guard hasSentHeaders || initialMetadata.unsendable == nil else { return }
    negotiate(stream)
    sendHeaders(stream)
    stream.outboundGrew()
  }

  func send<M: Message>(_ message: M) async throws(RPCError) {
    while true {
      guard isHome else {
        return try await server.loop.visit { () async throws(RPCError) in try await self.send(message) }
      }
      guard let stream, !isAnswered else { throw RPCError(.cancelled, "the call is over") }
      guard !stream.hasRoom else {
        try encode(message, stream)
        if try !sent(on: stream) { await roomToSend() }
        return
      }
      stream.notifyWhenRoom()
      await withUnsafeContinuation { writers.append($0) }
    }
  }

  /// A message was added to what the stream has to send.
  ///
  /// - Returns: Whether there is room for more.
  func sent(on stream: HTTP2Stream) throws(RPCError) -> Bool {
    guard kind != .clientStreaming else {
      hasResponse = true
      return true
    }
    if !hasSentHeaders {
      if let problem = initialMetadata.unsendable { throw rpcError(problem) }
      sendHeaders(stream)
    }
    stream.outboundGrew()
    return stream.outbound.count <= server.configuration.http2.streamOutputBytes
  }

  func roomToSend() async {
    guard isHome else { return await server.loop.visit(ifStopped: ()) { await self.roomToSend() } }
    guard let stream, !isAnswered, stream.outbound.count > server.configuration.http2.streamOutputBytes else { return }
    // Woken while there still is something to send, so that the stream does not run dry.
    stream.notifyWhenDrained(to: server.configuration.http2.streamOutputBytes / 2)
    await withUnsafeContinuation { writers.append($0) }
  }
}
