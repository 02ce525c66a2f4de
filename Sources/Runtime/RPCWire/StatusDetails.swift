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
      if case .other(let typeURL, let bytes) = detail {
        return ConnectError.Detail(type: typeURL.split(separator: "/").last.map(String.init) ?? "", value: bytes)
      }
      guard let message = KnownDetail.message(of: detail), let bytes = try? message.protobufBytes() else { return nil }
      let debug = (try? message.jsonBytes()).flatMap { try? JSONParser.parse($0) }
      return ConnectError.Detail(type: type(of: message).descriptor.name, value: bytes, debug: debug)
    }
  }

  /// A detail that Connect carried, from its bytes.
  package static func detail(_ detail: ConnectError.Detail) -> ErrorDetail {
    self.detail(GoogleProtobuf.AnyMessage(typeURL: prefix + detail.type, value: Bytes(detail.value)))
  }

  private static func any(_ detail: ErrorDetail) -> GoogleProtobuf.AnyMessage? {
    if case .other(let typeURL, let bytes) = detail { return GoogleProtobuf.AnyMessage(typeURL: typeURL, value: Bytes(bytes)) }
    guard let message = KnownDetail.message(of: detail), let bytes = try? message.protobufBytes() else { return nil }
    return GoogleProtobuf.AnyMessage(typeURL: prefix + type(of: message).descriptor.name, value: Bytes(bytes))
  }

  private static func detail(_ any: GoogleProtobuf.AnyMessage) -> ErrorDetail {
    any.typeURL.split(separator: "/").last.flatMap { KnownDetail.detail($0, from: WireForm(bytes: any.value)) }
      ?? .other(typeURL: any.typeURL, bytes: [UInt8](any.value))
  }

  private struct WireForm: KnownDetail.Form {
    let bytes: Bytes

    func message<M: Message>(_ type: M.Type) -> M? { try? M(protobuf: bytes) }
  }
}
