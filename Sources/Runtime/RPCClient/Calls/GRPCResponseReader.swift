internal import HTTP2
internal import RPC
internal import RPCWire

/// Makes a call's outcome of what a server sent.
enum GRPCResponseReader {
  static func outcome(_ stream: HTTP2Stream, maximumBytes: Int) -> GRPCClientCall.Outcome {
    let headers = stream.headers
    let isTrailersOnly = stream.trailers == nil
    let trailers = stream.trailers ?? headers
    guard let status = trailers.text(.grpcStatus) else { return .failure(error(forHTTP: headers)) }
    guard status.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int(status), let code = StatusCode(rawValue: number)
    else {
      return .failure(RPCError(.unknown, "the server sent the unknown status '\(status.prefix(20))'"))
    }
    let trailing = GRPCHeaders.metadata(trailers)
    guard code == .ok else {
      let message = trailers.value(.grpcMessage).map { PercentEncoding.decode($0) } ?? ""
      let details = trailers.value(.grpcStatusDetails).flatMap { MetadataBase64.decode($0) }.map(StatusDetails.decode) ?? []
      return .failure(RPCError(code, message, details: details, metadata: trailing))
    }
    let initial = isTrailersOnly ? Metadata() : GRPCHeaders.metadata(headers)
    return body(stream.inbound.bytes, initial, trailing, maximumBytes)
  }

  private static func body(
    _ bytes: UnsafeRawBufferPointer, _ initial: Metadata, _ trailing: Metadata, _ maximumBytes: Int
  ) -> GRPCClientCall.Outcome {
    switch GRPCFrame.parse(bytes, maximumBytes: maximumBytes) {
    case .complete(let frame) where frame.isCompressed:
      return .failure(RPCError(.internal, "the response is compressed, which was not offered"))
    case .complete(let frame) where frame.end == bytes.count:
      return .response([UInt8](bytes[GRPCFrame.prefixBytes...]), initial: initial, trailing: trailing)
    case .complete: return .failure(RPCError(.unimplemented, "the server sent more than one response"))
    case .empty: return .failure(RPCError(.unimplemented, "the server sent no response"))
    case .incomplete: return .failure(RPCError(.internal, "the response is cut off"))
    case .tooLarge(let size): return .failure(.messageTooLarge(size, limit: maximumBytes))
    }
  }

  /// Why a response cannot be one of gRPC, as far as its headers tell; nil when it can.
  static func refusal(_ headers: HeaderBlock) -> RPCError? {
    guard headers.value(.grpcStatus) == nil else { return nil }
    let isGRPC = headers.value(.contentType)?.starts(with: "application/grpc".utf8) == true
    return headers.text(.status) == "200" && isGRPC ? nil : error(forHTTP: headers)
  }

  /// What a response without a gRPC status means: something in between has answered.
  private static func error(forHTTP headers: HeaderBlock) -> RPCError {
    let status = headers.text(.status) ?? "none"
    let code: StatusCode =
      switch status {
      case "400", "431": .internal
      case "401": .unauthenticated
      case "403": .permissionDenied
      case "404": .unimplemented
      case "429", "502", "503", "504": .unavailable
      default: .unknown
      }
    return RPCError(code, "the answer is not from a gRPC server: HTTP status \(status)")
  }

  /// What a reset stream means, by the table of gRPC over HTTP/2.
  static func error(forReset error: HTTP2ErrorCode, connection: HTTP2Connection) -> RPCError {
    if connection.isClosed { return RPCError(.unavailable, "the connection was lost") }
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
