internal import EventLoop
internal import HTTP2
internal import RPCClient
public import ServiceKit

/// A service that keeps something of people, by name: `notes=https://notes.internal:10000`.
public struct AccountDataServiceAddress: ConfigurationValue, Hashable {
  /// The name, as people see it in reports.
  public let name: String
  /// Where it answers gRPC.
  public let address: ServiceAddress

  /// What a text must be to be read.
  public static var expectation: String { "a name (a-z, digits), an equals sign and \(ServiceAddress.expectation)" }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText text: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, AccountDataName.isKind(parts[0]), parts[0].utf8.count <= 32,
      let address = ServiceAddress(configurationText: parts[1])
    else { return nil }
    name = parts[0]
    self.address = address
  }

  /// The value as it would be written.
  public var configurationText: String { "\(name)=\(address.configurationText)" }
}

/// The other services that keep something of people, each behind a channel of its own.
public struct AccountDataServices: Sendable {
  /// A service, ready to be asked.
  public struct Peer: Sendable {
    /// Its name.
    public let name: String
    /// What it keeps.
    public let data: RemoteAccountData
  }

  /// The services, in the operator's order.
  public let peers: [Peer]
  private let channels: [ClientChannel]

  /// Channels to `services`; they connect when they are first used.
  ///
  /// - Parameters:
  ///   - services: Names and addresses.
  ///   - certificate: What this service shows to them.
  ///   - key: That certificate's private key.
  ///   - context: The process.
  ///   - patience: How long calls may take.
  /// - Throws: ``ServiceKit/ConfigurationError`` when the certificate or the roots cannot be used.
  public init(
    _ services: [AccountDataServiceAddress], certificate: ConfigurationKey<ReadableFile?>, key: ConfigurationKey<ReadableFile?>,
    _ context: ServiceContext, patience: RemoteAccountData.Patience = .init()
  ) throws(ConfigurationError) {
    var (peers, channels): ([Peer], [ClientChannel]) = ([], [])
    for service in services {
      var configuration = ClientChannelConfiguration()
      configuration.userAgent = "parley-\(context.settings.service)"
      if service.address.isSecure { configuration.tls = try ServiceCredential.tls(context.settings, certificate, key) }
      let channel = ClientChannel(to: service.address.target, on: context.loops, configuration: configuration)
      channels.append(channel)
      peers.append(Peer(name: service.name, data: RemoteAccountData(over: channel, patience: patience)))
    }
    (self.peers, self.channels) = (peers, channels)
  }

  /// Closes the channels.
  public func close() async {
    for channel in channels { await channel.close() }
  }
}
