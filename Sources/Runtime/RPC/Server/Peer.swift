/// The other end of a connection.
///
/// Described once for a connection and handed to each of its calls: a copy is one reference.
public struct Peer: Sendable, Hashable {
  @usableFromInline final class Description: Sendable {
    @usableFromInline let address: String
    @usableFromInline let port: UInt16?
    @usableFromInline let identity: PeerIdentity?
    @usableFromInline let certificateCommonName: String?

    init(_ address: String, _ port: UInt16?, _ identity: PeerIdentity?, _ certificateCommonName: String?) {
      self.address = address
      self.port = port
      self.identity = identity
      self.certificateCommonName = certificateCommonName
    }
  }

  @usableFromInline let described: Description

  /// Where the connection comes from: the text of the IP address alone, or `unix`.
  @inlinable public var address: String { described.address }
  /// The port there, or nil.
  @inlinable public var port: UInt16? { described.port }
  /// Who it is by the certificate that it proved to own; nil without one, or when the certificate names nobody.
  @inlinable public var identity: PeerIdentity? { described.identity }
  /// The common name in that certificate, for people who read logs; never for decisions.
  @inlinable public var certificateCommonName: String? { described.certificateCommonName }

  /// Describes a peer.
  public init(
    address: String, port: UInt16? = nil, identity: PeerIdentity? = nil, certificateCommonName: String? = nil
  ) {
    described = Description(address, port, identity, certificateCommonName)
  }

  /// Whether everything said of both is equal.
  public static func == (left: Peer, right: Peer) -> Bool {
    left.address == right.address && left.port == right.port && left.identity == right.identity
      && left.certificateCommonName == right.certificateCommonName
  }

  /// Adds what is said of it.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(address)
    hasher.combine(port)
    hasher.combine(identity)
    hasher.combine(certificateCommonName)
  }
}
