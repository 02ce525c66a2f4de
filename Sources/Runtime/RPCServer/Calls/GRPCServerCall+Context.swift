internal import EventLoop
internal import HTTP2
internal import RPC
internal import RPCWire

extension GRPCServerCall {
  var method: MethodInfo { route.unsafelyUnwrapped.method }

  /// Read from the header list when somebody asks, which most calls never do.
  var metadata: Metadata {
    if let storedMetadata { return storedMetadata }
    let metadata = stream.map { GRPCHeaders.metadata($0.headers) } ?? Metadata()
    storedMetadata = metadata
    return metadata
  }

  var peer: Peer {
    if let storedPeer { return storedPeer }
    let peer = stream.map { Peer($0.connection) } ?? Peer(address: "unknown")
    storedPeer = peer
    return peer
  }
}

extension Peer {
  /// The other end of a connection.
  init(_ connection: HTTP2Connection) {
    self.init(
      address: connection.peer.host, port: connection.peer.port,
      certifiedName: connection.peerCertificate.flatMap { $0.uris.first ?? $0.commonName })
  }
}
