internal import Buffers
internal import MessagesCore
package import MessagesWire
package import RPC
internal import WellKnown

/// The rich details of an error as `google.rpc.Status` carries them in `grpc-status-details-bin`.
package enum StatusDetails {
  private static let prefix = "type.googleapis.com/"

  /// Encodes code, message and details; nil when they cannot be encoded.
  package static func encode(_ error: RPCError, _ encoder: MessageEncoder) -> [UInt8]? {
    var status = GoogleRPC.Status(code: Int32(error.code.rawValue), message: GRPCHeaders.bounded(error.message))
    status.details = error.details.compactMap(any)
    return try? status.protobufBytes()
  }

  /// Decodes the details that a peer sent. What cannot be read is left out: the status itself stands.
  package static func decode(_ bytes: [UInt8]) -> [ErrorDetail] {
    guard let status = try? GoogleRPC.Status(protobuf: bytes) else { return [] }
    return status.details.map { detail(typeURL: $0.typeURL, value: [UInt8]($0.value)) }
  }

  private static func any(_ detail: ErrorDetail) -> GoogleProtobuf.AnyMessage? {
    switch detail {
    case .errorInfo(let reason, let domain, let metadata):
      pack(GoogleRPC.ErrorInfo(reason: reason, domain: domain, metadata: metadata))
    case .retryInfo(let delay):
      pack(
        GoogleRPC.RetryInfo(
          retryDelay: .init(seconds: delay.components.seconds, nanos: Int32(delay.components.attoseconds / 1_000_000_000))))
    case .badRequest(let violations):
      pack(GoogleRPC.BadRequest(fieldViolations: violations.map { .init(field: $0.field, description: $0.description) }))
    case .other(let typeURL, let bytes):
      GoogleProtobuf.AnyMessage(typeURL: typeURL, value: Bytes(bytes))
    }
  }

  private static func pack(_ message: some Message) -> GoogleProtobuf.AnyMessage? {
    guard let bytes = try? message.protobufBytes() else { return nil }
    return GoogleProtobuf.AnyMessage(typeURL: prefix + type(of: message).descriptor.name, value: Bytes(bytes))
  }

  /// The detail that a type URL and an encoding stand for; one that cannot be read stays as it is.
  package static func detail(typeURL: String, value: [UInt8]) -> ErrorDetail {
    switch typeURL.split(separator: "/").last {
    case "google.rpc.ErrorInfo":
      if let info = try? GoogleRPC.ErrorInfo(protobuf: value) {
        return .errorInfo(reason: info.reason, domain: info.domain, metadata: info.metadata)
      }
    case "google.rpc.RetryInfo":
      if let info = try? GoogleRPC.RetryInfo(protobuf: value), let delay = info.retryDelay {
        return .retryInfo(.seconds(delay.seconds) + .nanoseconds(Int64(delay.nanos)))
      }
    case "google.rpc.BadRequest":
      if let info = try? GoogleRPC.BadRequest(protobuf: value) {
        return .badRequest(info.fieldViolations.map { .init(field: $0.field, description: $0.description) })
      }
    default: break
    }
    return .other(typeURL: typeURL, bytes: value)
  }
}
