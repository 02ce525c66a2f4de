internal import ConnectWire
internal import EventLoop
internal import HTTP2
internal import RPC
internal import RPCWire

/// Calls whose request may be larger than others': they begin when their headers are there, and let the request in when whoever
/// judges callers has let them in and there is room for it.
extension RPCServerCall {
  /// What a request will take: while it waits for the rest of it, and when it has been decompressed.
  private struct Expected {
    let held: Int
    let read: Int
  }

  func awaitRequest() async throws(RPCError) {
    guard beginsAtHeaders, getCall == nil else { return }
    while true {
      guard isHome else {
        return try await server.loop.visit { () async throws(RPCError) in try await self.awaitRequest() }
      }
      guard let stream, !isAnswered else { throw RPCError(.cancelled, "the call is over") }
      guard let expected = try expectedRequest(stream) else {
        await nextBytes(stream)
        continue
      }
      let isLarge = expected.read > server.configuration.maximumRequestBytes
      // Room is for what comes, not for what is announced.
      if isLarge, turn == nil, stream.inbound.count >= min(expected.held, stream.unaskedBytes), let room {
        guard let turn = await room.enter(min(expected.read, maximumRequestBytes), of: values[RequestOwner.self]) else {
          throw RPCError(.cancelled, "the call is over")
        }
        self.turn = turn
      } else if stream.isRemoteClosed {
        return
      } else {
        await nextBytes(stream) {
          guard !isLarge || turn != nil, stream.unopenedBytes >= stream.windowStep, stream.openWindow(toHold: expected.held)
          else {
            return
          }
          if form.wire != .connectUnary { stream.inbound.reserve(expected.held) }
        }
      }
    }
  }

  func letGoOfRequest() {
    guard isHome else {
      // A loop that has ended holds no bytes.
      server.loop.execute { self.letGoOfRequest() }
      return
    }
    guard let turn else { return }
    room?.leave(turn)
    self.turn = nil
  }

  private var room: LargeRequests? { route?.room }

  /// Deflate makes no more of a byte.
  private static var mostExpansion: Int { 1_032 }

  /// - Returns: Nil where nothing of it has come that tells.
  private func expectedRequest(_ stream: HTTP2Stream) throws(RPCError) -> Expected? {
    guard form.wire != .connectUnary else { return expected(try expectedBody(stream)) }
    switch Envelope.parse(stream.inbound.bytes, maximumBytes: maximumRequestBytes) {
    case .empty where !stream.isRemoteClosed: return nil
    // Whoever reads the request says what is wrong with it.
    case .empty: return expected(0)
    case .tooLarge(let size): throw tooLarge(size)
    case .incomplete(let total): return expected(stream.isRemoteClosed ? 0 : total)
    case .complete(let envelope):
      // Now, since the rest of it may wait for a window that will not open.
      guard envelope.end == stream.inbound.count else {
        throw RPCError(.unimplemented, "the call has more than one request message")
      }
      return expected(envelope.end)
    }
  }

  /// A body without a length is taken for one that is not large until it is.
  private func expectedBody(_ stream: HTTP2Stream) throws(RPCError) -> Int {
    let (limit, count) = (maximumRequestBytes, stream.inbound.count)
    let most = form.requestCompression == .identity ? limit : Envelope.longest(of: limit)
    guard count <= most else { throw tooLarge() }
    guard !stream.isRemoteClosed else { return count }
    if let declared = stream.headers.text(named: "content-length").flatMap(Int.init) {
      guard declared <= most else { throw tooLarge(declared) }
      return max(declared, count)
    }
    let usual = server.configuration.maximumRequestBytes
    return turn != nil || count >= usual ? most : usual
  }

  private func expected(_ held: Int) -> Expected {
    let isPlain = form.requestCompression == .identity
    return Expected(held: held, read: isPlain ? held : min(held, maximumRequestBytes) * Self.mostExpansion)
  }
}
