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
    get { known { $0.initialMetadata } ?? Metadata() }
    set { change { $0.initialMetadata = newValue } }
  }

  var trailingMetadata: Metadata {
    get { known { $0.trailingMetadata } ?? Metadata() }
    set { change { $0.trailingMetadata = newValue } }
  }

  var values: CallValues {
    hasValues.load(ordering: .acquiring) ? attached.withLock { $0 } : CallValues()
  }

  func updateValues(_ body: (inout CallValues) -> Void) {
    attached.withLock { body(&$0) }
    hasValues.store(true, ordering: .releasing)
  }

  /// Reads ``shared``; nil where nothing was set.
  @inline(__always)
  func known<Value: Sendable>(_ body: @Sendable (borrowing Shared) -> Value) -> Value? {
    guard hasShared.load(ordering: .acquiring) else { return nil }
    return shared.withLock { body($0) }
  }

  /// Changes ``shared``.
  @inline(__always)
  func change(_ body: @Sendable (inout Shared) -> Void) {
    shared.withLock { body(&$0) }
    hasShared.store(true, ordering: .releasing)
  }

  /// Read from the header list when somebody asks, which most calls never do.
  var metadata: Metadata {
    shared.withLock { shared in
      if let metadata = shared.metadata { return metadata }
      let metadata = stream.map { GRPCHeaders.metadata($0.headers) } ?? Metadata()
      shared.metadata = metadata
      hasShared.store(true, ordering: .releasing)
      return metadata
    }
  }

  func metadataText(_ name: String) -> String? {
    guard let own else { return metadata[name] }
    return own._withUnsafeGuaranteedRef { $0.headers.text(named: name) }
  }

  var soleAuthorization: String? {
    if let own { return own._withUnsafeGuaranteedRef { $0.headers.soleText(.authorization) } }
    let values = metadata.values(of: "authorization")
    return values.count == 1 ? values[0] : nil
  }

  func withSoleAuthorization(_ body: (UnsafeRawBufferPointer) -> Void) {
    if let own {
      own._withUnsafeGuaranteedRef { stream in if let value = stream.headers.soleValue(.authorization) { body(value) } }
    } else if var text = soleAuthorization {
      text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
  }

  var requestIDText: String? {
    guard let own else { return metadata["x-request-id"] }
    return own._withUnsafeGuaranteedRef { $0.headers.text(.requestID) }
  }

  /// The stream, for whoever is on its loop: nobody else lets go of it, and what its headers say needs no copy.
  @inline(__always)
  private var own: Unmanaged<HTTP2Stream>? { isHome ? borrowedStream : nil }

  var peer: Peer {
    guard isHome else {
      return shared.withLock { $0.peer ?? stream.flatMap { ConnectionPeer.known($0.connection) } } ?? Peer(address: "unknown")
    }
    if let borrowedStream { return borrowedStream._withUnsafeGuaranteedRef { ConnectionPeer.of($0.connection) } }
    return shared.withLock { $0.peer } ?? Peer(address: "unknown")
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
