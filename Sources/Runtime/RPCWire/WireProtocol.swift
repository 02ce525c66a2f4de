/// The forms in which a call travels over HTTP/2.
package enum WireProtocol: UInt8, Sendable, Hashable, CaseIterable {
  /// gRPC: messages in envelopes, the status in HTTP trailers.
  case grpc
  /// gRPC-Web: the same, with the trailers in a last envelope.
  case grpcWeb
  /// Connect, one message each way: the bare message is the body, the status is HTTP's.
  case connectUnary
  /// Connect, streams: messages in envelopes, the status in a last one.
  case connectStream

  /// The name for logs and metrics: `grpc`, `grpc-web` or `connect`.
  package var name: String {
    switch self {
    case .grpc: "grpc"
    case .grpcWeb: "grpc-web"
    case .connectUnary, .connectStream: "connect"
    }
  }

  /// The header that names the compression of messages.
  package var encodingHeader: String {
    switch self {
    case .grpc, .grpcWeb: "grpc-encoding"
    case .connectUnary: "content-encoding"
    case .connectStream: "connect-content-encoding"
    }
  }

  /// The header that lists the compressions that its sender can read.
  package var acceptEncodingHeader: String {
    switch self {
    case .grpc, .grpcWeb: "grpc-accept-encoding"
    case .connectUnary: "accept-encoding"
    case .connectStream: "connect-accept-encoding"
    }
  }

  /// Whether it is one of Connect's.
  package var isConnect: Bool {
    switch self {
    case .grpc, .grpcWeb: false
    case .connectUnary, .connectStream: true
    }
  }
}
