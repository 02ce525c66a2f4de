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

  init(_ trailers: HeaderBlock) {
    status = trailers.text(.grpcStatus)
    message = trailers.value(.grpcMessage).map { PercentEncoding.decode($0) }
    details = trailers.value(.grpcStatusDetails).flatMap { MetadataBase64.decode($0) }
    metadata = GRPCHeaders.metadata(trailers)
  }

  /// Reads lines of `name: value`, whose names may be in any case.
  init(webTrailers bytes: UnsafeRawBufferPointer) {
    metadata = Metadata()
    for line in bytes.split(whereSeparator: { $0 == 0x0d || $0 == 0x0a }) {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
      let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
      let value = line[(colon + 1)...].drop { $0 == 0x20 }
      switch name {
      case "grpc-status": status = String(decoding: value, as: UTF8.self)
      case "grpc-message": message = PercentEncoding.decode(value)
      case "grpc-status-details-bin": details = MetadataBase64.decode(value)
      default:
        guard Metadata.isValidName(name) else { continue }
        if let entry = Metadata.Entry(header: name, String(decoding: value, as: UTF8.self)) { metadata.append(entry) }
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
    return .failure(RPCError(code, message ?? "", details: details, metadata: metadata))
  }
}
