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

  var soleAuthorization: String? {
    guard let borrowedStream else { return nil }
    return borrowedStream._withUnsafeGuaranteedRef { $0.headers.soleText(.authorization) }
  }

  func withSoleAuthorization(_ body: (UnsafeRawBufferPointer) -> Void) {
    guard let borrowedStream else { return }
    borrowedStream._withUnsafeGuaranteedRef { stream in
      if let value = stream.headers.soleValue(.authorization) { body(value) }
    }
  }

  var requestIDText: String? {
    if let storedMetadata { return storedMetadata["x-request-id"] }
    guard let borrowedStream else { return nil }
    return borrowedStream._withUnsafeGuaranteedRef { $0.headers.text(.requestID) }
  }

  var peer: Peer {
    if let storedPeer { return storedPeer }
    guard let borrowedStream else { return Peer(address: "unknown") }
    return borrowedStream._withUnsafeGuaranteedRef { ConnectionPeer.of($0.connection) }
  }
}

/// The peer of a connection, described once for all its calls.
final class ConnectionPeer {
  private let peer: Peer

  private init(_ peer: Peer) { self.peer = peer }

  static func of(_ connection: HTTP2Connection) -> Peer {
    // Without a cast, which the runtime would look up for every line of the access log.
    if let known = connection.attachment, type(of: known) == ConnectionPeer.self {
      return unsafeDowncast(known, to: ConnectionPeer.self).peer
    }
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
