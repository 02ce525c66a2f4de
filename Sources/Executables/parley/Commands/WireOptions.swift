import ArgumentParser
import RPC
import RPCClient

/// How calls travel: the protocol, the form of messages, and whether they are compressed.
struct WireOptions: ParsableArguments {
  /// The protocols by the names that people type.
  enum WireProtocol: String, ExpressibleByArgument, CaseIterable {
    case grpc, grpcweb, connect

    var wire: ClientChannelConfiguration.Wire {
      switch self {
      case .grpc: .grpc
      case .grpcweb: .grpcWeb
      case .connect: .connect
      }
    }
  }

  /// The forms of messages.
  enum Codec: String, ExpressibleByArgument, CaseIterable {
    case proto, json

    var codec: ClientChannelConfiguration.Codec { self == .proto ? .proto : .json }
  }

  /// How requests are compressed.
  enum Compression: String, ExpressibleByArgument, CaseIterable {
    case identity, gzip, deflate

    var compression: MessageCompression {
      switch self {
      case .identity: .identity
      case .gzip: .gzip
      case .deflate: .deflate
      }
    }
  }

  @Option(name: .customLong("protocol"), help: "What to speak.") var wireProtocol = WireProtocol.grpc
  @Option(help: "The form of messages on the wire.") var codec = Codec.proto
  @Option(help: "How to compress requests; responses may always come compressed.") var compression = Compression.identity

  /// A channel's configuration, with what these options say.
  func applied(to configuration: ClientChannelConfiguration) -> ClientChannelConfiguration {
    var configuration = configuration
    configuration.wire = wireProtocol.wire
    configuration.codec = codec.codec
    configuration.compression = compression.compression
    return configuration
  }
}
