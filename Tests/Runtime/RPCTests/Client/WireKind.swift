import RPCClient

/// One way for a call to travel.
struct WireKind: Sendable, CustomStringConvertible {
  let wire: ClientChannelConfiguration.Wire
  let codec: ClientChannelConfiguration.Codec

  static let all = ClientChannelConfiguration.Wire.allCases.flatMap { wire in
    ClientChannelConfiguration.Codec.allCases.map { WireKind(wire: wire, codec: $0) }
  }

  var configuration: ClientChannelConfiguration {
    var configuration = ClientChannelConfiguration()
    configuration.wire = wire
    configuration.codec = codec
    return configuration
  }

  var description: String { "\(wire) \(codec)" }
}
