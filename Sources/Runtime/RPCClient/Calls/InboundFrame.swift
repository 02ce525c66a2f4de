internal import ConnectWire
internal import RPC
internal import RPCWire

/// Where one message, or the end of a call, stands in the bytes of a response.
struct InboundFrame {
  let flags: UInt8
  /// Where the message begins.
  let start: Int
  /// Where the frame ends.
  let end: Int

  var isCompressed: Bool { flags & Envelope.compressed != 0 }

  /// What the next bytes of a response hold.
  enum Next {
    case message(InboundFrame)
    /// What the server says of the call's end, where a format has that in the body.
    case end(InboundFrame)
    /// Nothing, or the start of a frame of `total` bytes as far as is known.
    case incomplete(total: Int)
    case tooLarge(Int)
    case malformed(RPCError)
  }

  /// The room that the end of a call has whatever the limit for messages is.
  private static let endBytes = 64 << 10

  /// Looks at the frame that begins at `start`.
  @inline(__always)
  static func next(
    _ bytes: UnsafeRawBufferPointer, from start: Int, _ wire: WireProtocol, _ compression: MessageCompression, limit: Int
  ) -> Next {
    guard let envelope = Envelope.prefix(of: bytes, at: start) else { return .incomplete(total: Envelope.prefixBytes) }
    let (flags, count) = (envelope.flags, envelope.count)
    let kind = flags & ~Envelope.compressed
    let isEnd = kind != 0
    guard !isEnd || kind == wire.endFlag else {
      return .malformed(RPCError(.internal, "the server sent a message with the unknown flags \(flags)"))
    }
    let most = isEnd ? max(limit, endBytes) : envelope.isCompressed ? Envelope.longest(of: limit) : limit
    guard count <= most else { return .tooLarge(count) }
    guard bytes.count - start >= envelope.end else { return .incomplete(total: envelope.end) }
    guard !envelope.isCompressed || compression != .identity else {
      return .malformed(RPCError(.internal, "the server sent a compressed message and named no encoding"))
    }
    // Where an encoding was named, nothing is nothing in it.
    let frame = InboundFrame(
      flags: count == 0 ? kind : flags, start: start + Envelope.prefixBytes, end: start + envelope.end)
    return isEnd ? .end(frame) : .message(frame)
  }
}

extension WireProtocol {
  /// The flag of the frame that ends a call, or a value that no flag has.
  var endFlag: UInt8 {
    switch self {
    case .grpc, .connectUnary: 0
    case .grpcWeb: Envelope.trailers
    case .connectStream: Envelope.endOfStream
    }
  }

  /// Whether the status comes behind the messages, in the body.
  var endsInBody: Bool { self == .grpcWeb || self == .connectStream }
}
