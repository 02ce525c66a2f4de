internal import Buffers
package import ConnectWire
internal import JSON
internal import MessagesCore
internal import MessagesWire
package import RPC
internal import WellKnown

/// The rich details of an error as `google.rpc.Status` carries them in `grpc-status-details-bin`.
package enum StatusDetails {
  private static let prefix = "type.googleapis.com/"

  /// Encodes code, message and details; nil when they cannot be encoded.
  package static func encode(_ error: RPCError) -> [UInt8]? {
    var status = GoogleRPC.Status(code: Int32(error.code.rawValue), message: GRPCHeaders.bounded(error.message))
    status.details = error.details.compactMap(any)
    return try? status.protobufBytes()
  }

  /// Decodes the details that a peer sent. What cannot be read is left out: the status itself stands.
  package static func decode(_ bytes: [UInt8]) -> [ErrorDetail] {
    guard let status = try? GoogleRPC.Status(protobuf: bytes) else { return [] }
    return status.details.map(detail)
  }

  /// The details of an error as Connect carries them: each with its JSON as well, where its type is known here.
  package static func connectDetails(_ error: RPCError) -> [ConnectError.Detail] {
    error.details.compactMap { detail in
      switch detail {
      case .errorInfo(let reason, let domain, let metadata):
        connectDetail(GoogleRPC.ErrorInfo(reason: reason, domain: domain, metadata: metadata))
      case .retryInfo(let delay): connectDetail(GoogleRPC.RetryInfo(retryDelay: duration(delay)))
      case .badRequest(let violations): connectDetail(badRequest(violations))
      case .other(let typeURL, let bytes):
        ConnectError.Detail(type: typeURL.split(separator: "/").last.map(String.init) ?? "", value: bytes)
      }
    }
  }

  /// A detail that Connect carried, from its bytes.
  package static func detail(_ detail: ConnectError.Detail) -> ErrorDetail {
    self.detail(GoogleProtobuf.AnyMessage(typeURL: prefix + detail.type, value: Bytes(detail.value)))
  }

  private static func connectDetail(_ message: some Message) -> ConnectError.Detail? {
    guard let bytes = try? message.protobufBytes() else { return nil }
    let debug = (try? message.jsonBytes()).flatMap { try? JSONParser.parse($0) }
    return ConnectError.Detail(type: type(of: message).descriptor.name, value: bytes, debug: debug)
  }

  private static func duration(_ delay: Duration) -> GoogleProtobuf.Duration {
    .init(seconds: delay.components.seconds, nanos: Int32(delay.components.attoseconds / 1_000_000_000))
  }

  private static func badRequest(_ violations: [ErrorDetail.FieldViolation]) -> GoogleRPC.BadRequest {
    GoogleRPC.BadRequest(fieldViolations: violations.map { .init(field: $0.field, description: $0.description) })
  }

  private static func any(_ detail: ErrorDetail) -> GoogleProtobuf.AnyMessage? {
    switch detail {
    case .errorInfo(let reason, let domain, let metadata):
      pack(GoogleRPC.ErrorInfo(reason: reason, domain: domain, metadata: metadata))
    case .retryInfo(let delay): pack(GoogleRPC.RetryInfo(retryDelay: duration(delay)))
    case .badRequest(let violations): pack(badRequest(violations))
    case .other(let typeURL, let bytes):
      GoogleProtobuf.AnyMessage(typeURL: typeURL, value: Bytes(bytes))
    }
  }

  private static func pack(_ message: some Message) -> GoogleProtobuf.AnyMessage? {
    guard let bytes = try? message.protobufBytes() else { return nil }
    return GoogleProtobuf.AnyMessage(typeURL: prefix + type(of: message).descriptor.name, value: Bytes(bytes))
  }

  private static func detail(_ any: GoogleProtobuf.AnyMessage) -> ErrorDetail {
    switch any.typeURL.split(separator: "/").last {
    case "google.rpc.ErrorInfo":
      if let info = try? GoogleRPC.ErrorInfo(protobuf: any.value) {
        return .errorInfo(reason: info.reason, domain: info.domain, metadata: info.metadata)
      }
    case "google.rpc.RetryInfo":
      if let info = try? GoogleRPC.RetryInfo(protobuf: any.value), let delay = info.retryDelay {
        return .retryInfo(.seconds(delay.seconds) + .nanoseconds(Int64(delay.nanos)))
      }
    case "google.rpc.BadRequest":
      if let info = try? GoogleRPC.BadRequest(protobuf: any.value) {
        return .badRequest(info.fieldViolations.map { .init(field: $0.field, description: $0.description) })
      }
    default: break
    }
    return .other(typeURL: any.typeURL, bytes: [UInt8](any.value))
  }
}
