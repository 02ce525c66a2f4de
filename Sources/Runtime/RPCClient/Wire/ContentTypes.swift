/// The content types of the protocols, as a client sends and expects them.
enum ContentTypes {
  enum Match {
    case expected
    /// The protocol is right, the form of its messages is not.
    case otherCodec
    case foreign
  }

  static func request(_ format: BodyFormat, _ codec: ClientChannelConfiguration.Codec) -> String {
    switch (format, codec) {
    case (.grpc, .proto): "application/grpc"
    case (.grpc, .json): "application/grpc+json"
    case (.grpcWeb, .proto): "application/grpc-web+proto"
    case (.grpcWeb, .json): "application/grpc-web+json"
    case (.connectStream, .proto): "application/connect+proto"
    case (.connectStream, .json): "application/connect+json"
    case (.connectUnary, .proto): "application/proto"
    case (.connectUnary, .json): "application/json"
    }
  }

  static func match(_ type: String, _ format: BodyFormat, _ codec: ClientChannelConfiguration.Codec) -> Match {
    let type = bare(type)
    let prefix =
      switch format {
      case .grpc: "application/grpc"
      case .grpcWeb: "application/grpc-web"
      case .connectStream: "application/connect+"
      case .connectUnary: "application/"
      }
    guard type.hasPrefix(prefix) else { return .foreign }
    let rest = type.dropFirst(prefix.count)
    switch format {
    case .grpc, .grpcWeb:
      if rest.isEmpty { return codec == .proto ? .expected : .otherCodec }
      guard rest.hasPrefix("+") else { return .foreign }
      return rest.dropFirst() == codec.rawValue ? .expected : .otherCodec
    case .connectStream, .connectUnary: return rest == codec.rawValue ? .expected : .otherCodec
    }
  }

  static func isJSON(_ type: String) -> Bool { bare(type) == "application/json" }

  /// The type without its parameters (`; charset=utf-8`), in lower case.
  private static func bare(_ type: String) -> String {
    guard type.utf8.contains(where: { $0 == 0x3b || $0 == 0x20 || ($0 >= 0x41 && $0 <= 0x5a) }) else { return type }
    return String(type.prefix { $0 != ";" && $0 != " " }).lowercased()
  }
}
