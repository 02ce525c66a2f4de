internal import ConnectWire
internal import HTTP2
internal import RPC
internal import RPCWire

/// The status of gRPC, with what came around it: from trailers, or from the last frame of gRPC-Web.
struct GRPCStatus {
  private var status: String?
  private var message: String?
  private var details: [UInt8]?
  private var metadata: Metadata
  private var pushback: String?

  init(_ trailers: HeaderBlock) {
    status = trailers.text(.grpcStatus)
    message = trailers.value(.grpcMessage).map { PercentEncoding.decode($0) }
    details = trailers.value(.grpcStatusDetails).flatMap { MetadataBase64.decode($0) }
    metadata = GRPCHeaders.metadata(trailers)
    // Only failures have one, and most calls do not fail.
    if status != "0" { pushback = trailers.text(named: Self.pushbackName) }
  }

  private static let pushbackName = "grpc-retry-pushback-ms"

  /// Reads the content of gRPC-Web's last envelope.
  init?(webTrailers bytes: UnsafeRawBufferPointer) {
    guard let fields = GRPCWebTrailers.fields(bytes) else { return nil }
    metadata = Metadata()
    for (name, value) in fields {
      switch name {
      case "grpc-status": status = value
      case "grpc-message": message = PercentEncoding.decode(value.utf8)
      case "grpc-status-details-bin": details = MetadataBase64.decode(value.utf8)
      case Self.pushbackName: pushback = value
      default:
        guard Metadata.isValidName(name), !ReservedHeaders.contains(name) else { continue }
        if let entry = Metadata.Entry(header: name, value) { metadata.append(entry) }
      }
    }
  }

  /// What the call came to.
  var outcome: CallOutcome {
    guard let status else {
      return .failure(RPCError(.unknown, "the server sent no status", metadata: metadata))
    }
    guard status.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int(status), let code = StatusCode(rawValue: number)
    else {
      return .failure(RPCError(.unknown, "the server sent the unknown status '\(status.prefix(20))'", metadata: metadata))
    }
    guard code != .ok else { return CallOutcome(trailingMetadata: metadata) }
    let details = details.map(StatusDetails.decode) ?? []
    var outcome = CallOutcome.failure(RPCError(code, message ?? "", details: details, metadata: metadata))
    outcome.pushback = RetryPushback(pushback)
    return outcome
  }
}
