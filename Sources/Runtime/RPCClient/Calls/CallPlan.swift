internal import RPC
internal import RPCWire

/// What all attempts of one call have in common.
struct CallPlan: Sendable {
  let method: MethodInfo
  var metadata: Metadata
  let deadline: Deadline?
  let waitsForReady: Bool
  /// The most bytes that a request message may have, before it is compressed.
  let maximumRequestBytes: Int?
  /// How requests are compressed.
  let compression: MessageCompression
  /// The most bytes that a response message may have, once restored.
  let maximumResponseBytes: Int
  let wire: WireProtocol
  let codec: MessageCodec
  /// Whether the request travels in the URL.
  let usesGET: Bool
  /// How failed calls are tried again.
  let retry: RetryPolicy?
  /// Who is told what becomes of the call.
  let observation: (any ClientCallObservation)?
  /// Attempts before this one that a server may have seen.
  var previousAttempts = 0

  /// Whether there is exactly one response: the call is judged when it is over, not before.
  var hasOneResponse: Bool { method.kind == .unary || method.kind == .clientStreaming }

  /// - Throws: ``RPC/RPCError`` with INTERNAL for metadata that may not be sent: left out, it would be missed in silence.
  init(_ method: MethodInfo, _ options: CallOptions, _ context: ClientChannelContext) throws(RPCError) {
    if let problem = options.metadata.unsendable { throw RPCError(.internal, "\(problem)", cause: problem) }
    let configuration = context.configuration
    let config = context.methods[method]
    let options = config?.applied(to: options) ?? options
    self.method = method
    metadata = options.metadata
    deadline = options.effectiveDeadline
    waitsForReady = options.waitsForReady
    maximumRequestBytes = config?.maximumRequestBytes
    retry = configuration.retriesFailedCalls ? config?.retry : nil
    compression = options.compression ?? configuration.compression
    maximumResponseBytes = options.maximumResponseBytes ?? configuration.maximumResponseBytes
    codec = configuration.codec.wire
    wire =
      switch configuration.wire {
      case .grpc: .grpc
      case .grpcWeb: .grpcWeb
      case .connect: method.kind == .unary ? .connectUnary : .connectStream
      }
    observation = configuration.observer?.callBegins(method, target: context.target.description)
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
