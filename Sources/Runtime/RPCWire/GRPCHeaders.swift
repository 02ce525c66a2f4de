internal import Buffers
internal import ConnectWire
package import HTTP2
package import RPC

/// The trailers of gRPC, and metadata as header fields: what is sent, and what is read from the peer's.
package enum GRPCHeaders {
  /// The trailers of a call that succeeded, with metadata.
  package static func trailers(ok metadata: Metadata) -> HeaderList {
    let list = HeaderList(capacity: 1 + metadata.entries.count)
    list.append("grpc-status", "0")
    append(metadata, to: list)
    return list
  }

  /// The trailers of a call that failed, with its rich details and metadata.
  package static func trailers(_ error: RPCError, _ metadata: Metadata) -> HeaderList {
    let list = HeaderList(capacity: 3 + metadata.entries.count)
    list.append("grpc-status", "\(error.code.rawValue)")
    if !error.message.isEmpty { list.append("grpc-message", PercentEncoding.encode(bounded(error.message))) }
    if !error.details.isEmpty, let details = StatusDetails.encode(error) {
      list.append("grpc-status-details-bin", MetadataBase64.encode(details))
    }
    append(metadata, to: list)
    return list
  }

  /// Adds metadata as header fields, bytes in base64, names behind a prefix. What may not stand in a header is left out.
  package static func append(_ metadata: Metadata, to list: HeaderList, prefix: String = "") {
    for entry in metadata.entries {
      switch entry.value {
      case .text(let text): if Metadata.isValidText(text) { list.append(prefix + entry.name, text) }
      case .binary(let bytes): list.append(prefix + entry.name, MetadataBase64.encode(bytes))
      }
    }
  }

  /// The user's metadata in a received header list: all but what HTTP/2 and the protocols keep for themselves.
  package static func metadata(_ headers: HeaderBlock) -> Metadata {
    var metadata = Metadata()
    headers.forEach { name, value, token in
      switch token {
      case .other, .authorization, .userAgent, .forwardedFor, .origin, .requestID, .traceParent: break
      default: return
      }
      let name = String(decoding: name, as: UTF8.self)
      guard !ReservedHeaders.contains(name) else { return }
      guard name.hasSuffix("-bin") else {
        metadata.append(.init(name: name, value: .text(String(decoding: value, as: UTF8.self))))
        return
      }
      for part in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
        if let bytes = MetadataBase64.decode(part.drop { $0 == 0x20 }) {
          metadata.append(.init(name: name, value: .binary(bytes)))
        }
      }
    }
    return metadata
  }

  /// Longer messages than this are cut: they are for people, and header space is bounded on the other side too.
  private static let maximumMessageBytes = 4_096

  static func bounded(_ message: String) -> String {
    guard message.utf8.count > maximumMessageBytes else { return message }
    var cut = Substring(message)
    while cut.utf8.count > maximumMessageBytes - 3 { cut = cut.dropLast(max(1, (cut.utf8.count - maximumMessageBytes) / 4)) }
    return cut + "..."
  }
}
