internal import Glibc

/// What a content type says of a request or response: the protocol, and the codec of its messages.
package enum WireContentType: Sendable, Hashable {
  /// A protocol and a codec that are spoken here.
  case known(WireProtocol, MessageCodec)
  /// A protocol that is spoken here, with a codec that is not.
  case unknownCodec(WireProtocol)
  /// Nothing that has to do with RPC.
  case other

  /// Reads the value of `content-type`. Parameters (`; charset=utf-8`) do not matter; names in upper case are read as well.
  @inline(__always)
  package static func parse(_ value: UnsafeRawBufferPointer) -> WireContentType {
    // What nearly every gRPC client sends comes first: one comparison of bytes.
    let plain: StaticString = "application/grpc"
    if let base = value.baseAddress, value.count == plain.utf8CodeUnitCount, memcmp(base, plain.utf8Start, value.count) == 0 {
      return .known(.grpc, .proto)
    }
    return parseAny(value)
  }

  @inline(never)
  private static func parseAny(_ value: UnsafeRawBufferPointer) -> WireContentType {
    var type = value.prefix { $0 != UInt8(ascii: ";") }.map { $0 >= 0x41 && $0 <= 0x5a ? $0 | 0x20 : $0 }
    while type.last == 0x20 || type.last == 0x09 { type.removeLast() }
    let prefix = "application/".utf8
    guard type.starts(with: prefix) else { return .other }
    let subtype = type[prefix.count...]
    // The longest name first: grpc-web begins as grpc does.
    for (name, wire) in [("grpc-web", WireProtocol.grpcWeb), ("grpc", .grpc), ("connect", .connectStream)] {
      guard subtype.starts(with: name.utf8) else { continue }
      let rest = subtype.dropFirst(name.utf8.count)
      if rest.isEmpty { return wire == .connectStream ? .other : .known(wire, .proto) }
      // `grpc-web-text` is the same protocol in base64, which is not spoken here.
      guard rest.first == UInt8(ascii: "+") else { return name == "grpc-web" ? .unknownCodec(wire) : .other }
      return MessageCodec(named: rest.dropFirst()).map { .known(wire, $0) } ?? .unknownCodec(wire)
    }
    return MessageCodec(named: subtype).map { .known(.connectUnary, $0) } ?? .other
  }
}

extension WireProtocol {
  /// The content type of messages in this codec.
  package func contentType(_ codec: MessageCodec) -> String {
    switch (self, codec) {
    case (.grpc, .proto): "application/grpc"
    case (.grpc, .json): "application/grpc+json"
    case (.grpcWeb, .proto): "application/grpc-web+proto"
    case (.grpcWeb, .json): "application/grpc-web+json"
    case (.connectUnary, .proto): "application/proto"
    case (.connectUnary, .json): "application/json"
    case (.connectStream, .proto): "application/connect+proto"
    case (.connectStream, .json): "application/connect+json"
    }
  }
}
