internal import ConnectWire
internal import HTTP2
internal import RPC
internal import RPCWire

/// How a call ended, by what the server said last.
enum ResponseEnd {
  /// The outcome of a stream that the server has ended.
  static func atEnd(of stream: HTTP2Stream, _ attempt: CallAttempt, hasBody: Bool) -> CallOutcome {
    switch attempt.plan.wire {
    case .connectUnary: return connectUnary(stream, attempt)
    case .connectStream: return .failure(RPCError(.internal, "the stream ended without saying how"))
    case .grpc, .grpcWeb: break
    }
    let isTrailersOnly = stream.trailers == nil && !hasBody
    if attempt.initialMetadata == nil {
      attempt.initialMetadata = isTrailersOnly ? Metadata() : GRPCHeaders.metadata(stream.headers)
    }
    if attempt.plan.wire == .grpc, let trailers = stream.trailers { return GRPCStatus(trailers).outcome }
    if isTrailersOnly { return GRPCStatus(stream.headers).outcome }
    return .failure(RPCError(.internal, "the response ended without a status"))
  }

  /// The outcome that the last frame of a body tells.
  static func inBody(_ bytes: UnsafeRawBufferPointer, _ frame: InboundFrame, _ attempt: CallAttempt) -> CallOutcome {
    if attempt.initialMetadata == nil, let headers = attempt.stream?.headers {
      attempt.initialMetadata = GRPCHeaders.metadata(headers)
    }
    guard frame.isCompressed else { return inBody(bytes, attempt.plan.wire) }
    do throws(RPCError) {
      return try attempt.part.coding.restoring(bytes, attempt.responseCompression, maximumBytes: 64 << 10) {
        inBody($0, attempt.plan.wire)
      }
    } catch {
      return .failure(error)
    }
  }

  private static func inBody(_ bytes: UnsafeRawBufferPointer, _ wire: WireProtocol) -> CallOutcome {
    if wire == .grpcWeb {
      return GRPCStatus(webTrailers: bytes)?.outcome ?? .failure(RPCError(.internal, "the trailers are malformed"))
    }
    guard let end = ConnectEndOfStream(json: [UInt8](bytes), detail: StatusDetails.detail) else {
      return .failure(RPCError(.internal, "the end of the stream is no JSON object"))
    }
    var error = end.error
    error?.metadata = end.metadata
    return CallOutcome(error: error, trailingMetadata: end.metadata)
  }

  private static func connectUnary(_ stream: HTTP2Stream, _ attempt: CallAttempt) -> CallOutcome {
    let trailing = ResponseHead.trailers(stream.headers)
    guard !stream.headers.value(.status, is: "200") else { return CallOutcome(trailingMetadata: trailing) }
    let fallback = ResponseHead.error(forHTTP: stream.headers)
    var error = ConnectDetails.error(stream.inbound.bytes, attempt, fallback: fallback.code) ?? fallback
    error.metadata = trailing
    error.metadata.append(contentsOf: fallback.metadata)
    return CallOutcome(error: error, trailingMetadata: trailing)
  }

  /// What a reset stream means, by the table of gRPC over HTTP/2.
  static func error(forReset error: HTTP2ErrorCode, connection: HTTP2Connection) -> RPCError {
    if connection.isClosed {
      return RPCError(.unavailable, "the connection was lost" + (connection.failure.map { ": \($0.message)" } ?? ""))
    }
    let code: StatusCode =
      switch error {
      case .cancel: .cancelled
      case .enhanceYourCalm: .resourceExhausted
      case .inadequateSecurity: .permissionDenied
      case .refusedStream: .unavailable
      default: .internal
      }
    return RPCError(code, "the server reset the stream: \(error)")
  }
}
