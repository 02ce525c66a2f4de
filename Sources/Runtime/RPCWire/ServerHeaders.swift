internal import ConnectWire
package import HTTP2
package import RPC

/// The header lists of a server's responses, in each protocol.
package enum ServerHeaders {
  /// What comes before the messages of gRPC, gRPC-Web and Connect's streams.
  package static func response(
    _ wire: WireProtocol, _ codec: MessageCodec, encoding: MessageCompression, _ metadata: Metadata
  ) -> HeaderList {
    let list = HeaderList(capacity: 4 + metadata.entries.count)
    list.append(":status", "200")
    list.append("content-type", wire.contentType(codec))
    append(encoding, of: wire, to: list)
    GRPCHeaders.append(metadata, to: list)
    return list
  }

  /// A whole response of gRPC or gRPC-Web in one list: status, headers and trailers (Trailers-Only).
  package static func trailersOnly(
    _ wire: WireProtocol, _ codec: MessageCodec, _ metadata: Metadata, _ trailers: HeaderList
  ) -> HeaderList {
    let list = HeaderList(capacity: 3 + metadata.entries.count + trailers.count)
    list.append(":status", "200")
    list.append("content-type", wire.contentType(codec))
    GRPCHeaders.append(metadata, to: list)
    list.append(contentsOf: trailers)
    return list
  }

  /// What comes before the body of a unary Connect response that succeeded: also its trailing metadata.
  package static func connectUnary(
    _ codec: MessageCodec, encoding: MessageCompression, bodyBytes: Int, _ initial: Metadata, trailing: Metadata
  ) -> HeaderList {
    let list = HeaderList(capacity: 5 + initial.entries.count + trailing.entries.count)
    list.append(":status", "200")
    list.append("content-type", WireProtocol.connectUnary.contentType(codec))
    list.append("content-length", "\(bodyBytes)")
    append(encoding, of: .connectUnary, to: list)
    GRPCHeaders.append(initial, to: list)
    GRPCHeaders.append(trailing, to: list, prefix: ConnectHeaders.trailerPrefix)
    return list
  }

  /// What comes before the JSON of a unary Connect call that failed.
  package static func connectError(_ status: Int, bodyBytes: Int, _ initial: Metadata, trailing: Metadata) -> HeaderList {
    let list = HeaderList(capacity: 5 + initial.entries.count + trailing.entries.count)
    list.append(":status", "\(status)")
    list.append("content-type", "application/json")
    list.append("content-length", "\(bodyBytes)")
    GRPCHeaders.append(initial, to: list)
    GRPCHeaders.append(trailing, to: list, prefix: ConnectHeaders.trailerPrefix)
    // What HTTP has a field of its own for is said there too.
    if initial["retry-after"] == nil, let delay = trailing["retry-after"] { list.append("retry-after", delay) }
    return list
  }

  private static func append(_ encoding: MessageCompression, of wire: WireProtocol, to list: HeaderList) {
    if encoding != .identity { list.append(wire.encodingHeader, encoding.rawValue) }
  }
}
