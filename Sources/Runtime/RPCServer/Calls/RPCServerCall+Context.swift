internal import EventLoop
internal import HTTP2
internal import RPC
internal import RPCWire
internal import Synchronization
internal import WellKnown

/// What handlers ask for, from wherever they are.
extension RPCServerCall {
  /// Stands for what is not served here.
  private static let unknownMethod = MethodInfo(
    service: "", name: "", kind: .unary, access: .public, idempotency: .unknown, request: GoogleProtobuf.Empty.descriptor,
    response: GoogleProtobuf.Empty.descriptor)

  var method: MethodInfo { route?.method ?? Self.unknownMethod }

  var protocolName: String { form.wire.name }

  var query: String? { getCall?.query }

  var initialMetadata: Metadata {
    get { said.withLock { $0.initialMetadata } }
    set { said.withLock { $0.initialMetadata = newValue } }
  }

  var trailingMetadata: Metadata {
    get { said.withLock { $0.trailingMetadata } }
    set { said.withLock { $0.trailingMetadata = newValue } }
  }

  var values: CallValues {
    get { said.withLock { $0.values } }
    set { said.withLock { $0.values = newValue } }
  }

  /// Read from the header list when somebody asks, which most calls never do.
  var metadata: Metadata {
    said.withLock { said in
      if let known = said.metadata { return known }
      let metadata = stream.map { GRPCHeaders.metadata($0.headers) } ?? Metadata()
      said.metadata = metadata
      return metadata
    }
  }

  func metadataText(_ name: String) -> String? { ownStream.map { $0.headers.text(named: name) } ?? metadata[name] }

  var soleAuthorization: String? {
    if let ownStream { return ownStream.headers.soleText(.authorization) }
    let values = metadata.values(of: "authorization")
    return values.count == 1 ? values[0] : nil
  }

  func withSoleAuthorization(_ body: (UnsafeRawBufferPointer) -> Void) {
    if let ownStream {
      if let value = ownStream.headers.soleValue(.authorization) { body(value) }
    } else if var text = soleAuthorization {
      text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
  }

  var requestIDText: String? { ownStream.map { $0.headers.text(.requestID) } ?? metadata["x-request-id"] }

  /// The stream, for whoever is on its loop: nobody else lets go of it, and what its headers say needs no copy.
  @inline(__always)
  private var ownStream: HTTP2Stream? { server.loop.isCurrent ? borrowedStream?._withUnsafeGuaranteedRef { $0 } : nil }

  var peer: Peer {
    guard server.loop.isCurrent else {
      return said.withLock { $0.peer ?? stream.flatMap { ConnectionPeer.known($0.connection) } } ?? Peer(address: "unknown")
    }
    if let borrowedStream { return borrowedStream._withUnsafeGuaranteedRef { ConnectionPeer.of($0.connection) } }
    return said.withLock { $0.peer } ?? Peer(address: "unknown")
  }
}

/// The peer of a connection, described once for all its calls.
final class ConnectionPeer {
  private let peer: Peer

  private init(_ peer: Peer) { self.peer = peer }

  static func of(_ connection: HTTP2Connection) -> Peer {
    if let known = known(connection) { return known }
    let made = ConnectionPeer(Peer(connection))
    connection.attachment = made
    return made.peer
  }

  /// That of a connection that has had a call, on any thread.
  static func known(_ connection: HTTP2Connection) -> Peer? {
    // Without a cast, which the runtime would look up for every line of the access log.
    guard let known = connection.attachment, type(of: known) == ConnectionPeer.self else { return nil }
    return unsafeDowncast(known, to: ConnectionPeer.self).peer
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
