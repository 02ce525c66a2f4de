/// How one side of a TLS connection identifies itself, whom it trusts, and what it speaks.
///
/// A plain value: nothing is read or checked before a ``TLSContext`` is made of it. Certificates of servers are always verified;
/// there is no switch against it.
///
/// TLS 1.2 is used with ECDHE and AEAD ciphers only. Compression, renegotiation and early data are off in both versions.
public struct TLSConfiguration: Sendable {
  /// Text with one or more PEM blocks, at most 1 MiB.
  public enum PEM: Sendable, Hashable {
    /// The text itself.
    case bytes([UInt8])
    /// The path of a file that holds it, read when the ``TLSContext`` is made.
    case file(String)
  }

  /// A certificate and its private key.
  public struct Identity: Sendable, Hashable {
    /// The leaf certificate first, then the intermediates that lead to a root.
    public var certificateChain: PEM
    /// The leaf's private key, without a pass phrase.
    public var privateKey: PEM

    /// An identity from its two parts.
    public init(certificateChain: PEM, privateKey: PEM) {
      self.certificateChain = certificateChain
      self.privateKey = privateKey
    }
  }

  /// The certificates that a peer's chain may end in.
  public enum TrustRoots: Sendable, Hashable {
    /// What the system trusts (OpenSSL's default paths, `SSL_CERT_FILE`, `SSL_CERT_DIR`).
    case system
    /// Exactly these certificates. Each is an anchor, even if it is an intermediate or a leaf.
    case certificates(PEM)
  }

  /// What a server asks of its clients.
  public enum ClientCertificates: Sendable, Hashable {
    /// None is asked for.
    case none
    /// A client may send one; one that does not lead to a root ends the handshake.
    case optional(TrustRoots)
    /// A client without a certificate that leads to a root does not get past the handshake.
    case required(TrustRoots)
  }

  /// The versions of TLS.
  public enum Version: Int32, Sendable, Comparable {
    /// RFC 5246.
    case tls12 = 0x0303
    /// RFC 8446.
    case tls13 = 0x0304

    /// Older versions come first.
    public static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
  }

  /// Which side of the handshake a context is for.
  public enum Role: Sendable {
    /// Accepts connections as `identity`.
    case server(identity: Identity, clients: ClientCertificates)
    /// Opens connections; sends `identity` to servers that ask for one. `serverName` (a DNS name or an IP address) is verified
    /// against the server's certificate unless the connection brings its own.
    case client(trustRoots: TrustRoots, identity: Identity?, serverName: String?)
  }

  /// Which side this is, with what only that side has.
  public var role: Role
  /// The application protocols (ALPN), most wanted first; each has 1 to 255 bytes. Empty: ALPN is not used.
  public var applicationProtocols: [String] = ["h2"]
  /// Whether a peer that agrees to none of ``applicationProtocols`` is refused (a server does so with the alert
  /// `no_application_protocol`). RFC 9113, section 3.2 asks for it.
  public var requiresApplicationProtocol = true
  /// The oldest version to speak.
  public var minimumVersion = Version.tls12
  /// The newest version to speak.
  public var maximumVersion = Version.tls13

  /// A configuration with the defaults of this type.
  public init(role: Role) {
    self.role = role
  }

  /// A server's configuration.
  ///
  /// - Parameters:
  ///   - identity: The certificate that clients verify.
  ///   - clients: Whether clients must show one too.
  public static func server(identity: Identity, clients: ClientCertificates = .none) -> TLSConfiguration {
    TLSConfiguration(role: .server(identity: identity, clients: clients))
  }

  /// A client's configuration.
  ///
  /// - Parameters:
  ///   - trustRoots: What the server's certificate must lead to.
  ///   - identity: The client's own certificate, for servers that ask for one.
  ///   - serverName: The DNS name (sent as SNI) or IP address to verify, for connections that do not bring their own.
  public static func client(
    trustRoots: TrustRoots = .system, identity: Identity? = nil, serverName: String? = nil
  ) -> TLSConfiguration {
    TLSConfiguration(role: .client(trustRoots: trustRoots, identity: identity, serverName: serverName))
  }
}
