internal import RPC
internal import RPCWire

/// What all attempts of one call have in common.
struct CallPlan: Sendable {
  let method: MethodInfo
  let metadata: Metadata
  let deadline: Deadline?
  let waitsForReady: Bool
  /// How requests are compressed.
  let compression: MessageCompression
  /// The most bytes that a response message may have, once restored.
  let maximumResponseBytes: Int
  let wire: WireProtocol
  let codec: MessageCodec
  /// Whether the request travels in the URL.
  let usesGET: Bool

  /// Whether there is exactly one response: the call is judged when it is over, not before.
  var hasOneResponse: Bool { method.kind == .unary || method.kind == .clientStreaming }

  init(_ method: MethodInfo, _ options: CallOptions, _ configuration: ClientChannelConfiguration) {
    self.method = method
    metadata = options.metadata
    deadline = options.effectiveDeadline
    waitsForReady = options.waitsForReady
    compression = options.compression ?? configuration.compression
    maximumResponseBytes = options.maximumResponseBytes ?? configuration.maximumResponseBytes
    codec = configuration.codec.wire
    wire =
      switch configuration.wire {
      case .grpc: .grpc
      case .grpcWeb: .grpcWeb
      case .connect: method.kind == .unary ? .connectUnary : .connectStream
      }
    usesGET = options.prefersGET && wire == .connectUnary && method.idempotency == .noSideEffects
  }
}

extension ClientChannelConfiguration.Codec {
  var wire: MessageCodec {
    switch self {
    case .proto: .proto
    case .json: .json
    }
  }
}
