internal import EventLoop
internal import HTTP2
internal import RPC
internal import RPCWire

extension RPCServerCall {
  var method: MethodInfo { route.unsafelyUnwrapped.method }

  var protocolName: String { form.wire.name }

  var query: String? { getCall?.query }

  /// Read from the header list when somebody asks, which most calls never do.
  var metadata: Metadata {
    if let storedMetadata { return storedMetadata }
    let metadata = stream.map { GRPCHeaders.metadata($0.headers) } ?? Metadata()
    storedMetadata = metadata
    return metadata
  }

  func metadataText(_ name: String) -> String? {
    if let storedMetadata { return storedMetadata[name] }
    return stream?.headers.text(named: name)
  }

  var peer: Peer {
    if let storedPeer { return storedPeer }
    guard let stream else { return Peer(address: "unknown") }
    return ConnectionPeer.of(stream.connection)
  }
}

/// The peer of a connection, described once for all its calls.
final class ConnectionPeer {
  private let peer: Peer

  private init(_ peer: Peer) { self.peer = peer }

  static func of(_ connection: HTTP2Connection) -> Peer {
    if let known = connection.attachment as? ConnectionPeer { return known.peer }
    let made = ConnectionPeer(Peer(connection))
    connection.attachment = made
    return made.peer
  }
}

extension Peer {
  /// The other end of a connection.
  init(_ connection: HTTP2Connection) {
    let certificate = connection.peerCertificate
    self.init(
      address: connection.peer.host, port: connection.peer.port,
      identity: certificate.flatMap { PeerIdentity(uris: $0.uris, dnsNames: $0.dnsNames) },
      certificateCommonName: certificate?.commonName)
  }
}
