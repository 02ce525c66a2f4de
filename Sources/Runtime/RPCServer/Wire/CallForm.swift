internal import RPC
internal import RPCWire

/// The form in which one call travels: protocol, codec and compression. A few bytes, so that a call is reset by assigning it.
struct CallForm {
  /// The protocol.
  var wire = WireProtocol.grpc
  /// How messages are written.
  var codec = MessageCodec.proto
  /// What compressed requests are compressed with; identity when the caller named nothing.
  var requestCompression = MessageCompression.identity
  /// What responses shall be compressed with from here on.
  var chosen = MessageCompression.identity
  /// What responses may be compressed with at some point: the last choice but identity, before the headers were sent.
  var offered = MessageCompression.identity
  /// What the headers say, or will: the offer, where the caller accepts it.
  var announced = MessageCompression.identity
  var hasNegotiated = false
  /// Whether the handler chose, and not the configuration: its choice holds for small messages as well.
  var isChosenByHandler = false
  /// Whether a page of another origin asks, where that matters to anyone.
  var isCrossOrigin = false

  /// Whether the response's headers are those of plain gRPC.
  var hasPlainHead: Bool {
    switch (wire, codec, announced) {
    case (.grpc, .proto, .identity): !isCrossOrigin
    default: false
    }
  }

  /// Whether every message has a prefix that tells its length: all protocols but unary Connect, whose message is the body.
  @inline(__always)
  var hasEnvelopes: Bool {
    if case .connectUnary = wire { false } else { true }
  }

  /// Whether responses are protobuf and were never to be compressed.
  @inline(__always)
  var hasPlainResponses: Bool {
    switch (codec, offered) {
    case (.proto, .identity): true
    default: false
    }
  }

  /// Chooses the compression of what follows. Before the headers are sent it is also what they will name.
  mutating func choose(_ compression: MessageCompression, hasSentHeaders: Bool) {
    chosen = compression
    isChosenByHandler = true
    if case .identity = compression { return }
    if !hasSentHeaders && !hasNegotiated { offered = compression }
  }
}
