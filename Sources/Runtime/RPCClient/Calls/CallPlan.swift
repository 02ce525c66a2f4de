internal import RPC

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
  let format: BodyFormat
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
    format = BodyFormat(configuration.wire, method.kind)
    usesGET = options.prefersGET && format == .connectUnary && method.idempotency == .noSideEffects
  }
}

/// How messages stand in the bodies of a call.
enum BodyFormat: Sendable {
  /// Each behind a prefix; the status is in the trailers.
  case grpc
  /// Each behind a prefix; the status is in the last frame.
  case grpcWeb
  /// Each behind a prefix; the last envelope says how the call ended.
  case connectStream
  /// One message, and nothing else.
  case connectUnary

  init(_ wire: ClientChannelConfiguration.Wire, _ kind: MethodKind) {
    switch wire {
    case .grpc: self = .grpc
    case .grpcWeb: self = .grpcWeb
    case .connect: self = kind == .unary ? .connectUnary : .connectStream
    }
  }
}
