/// A TLS configuration that cannot be used, or a TLS connection that cannot go on.
///
/// ``message`` names what was wrong in OpenSSL's words and holds no key material and nothing that the peer chose, so it may be
/// logged and shown to an operator.
public struct TLSError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure. New kinds may appear: switch with a default.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name of the kind, as it appears in logs.
    public let description: String

    /// A file could not be read, or the bytes are not PEM of the kind that is asked for.
    public static let badPEM = Code(description: "BAD_PEM")
    /// The private key does not belong to the certificate.
    public static let keyMismatch = Code(description: "KEY_MISMATCH")
    /// A certificate's validity is over: ours at start, or the peer's.
    public static let certificateExpired = Code(description: "CERTIFICATE_EXPIRED")
    /// A certificate's validity has not begun.
    public static let certificateNotYetValid = Code(description: "CERTIFICATE_NOT_YET_VALID")
    /// The configuration holds a value that OpenSSL refuses, or misses one.
    public static let badConfiguration = Code(description: "BAD_CONFIGURATION")
    /// The peer's certificate does not lead to a trust root.
    public static let certificateUntrusted = Code(description: "CERTIFICATE_UNTRUSTED")
    /// The server's certificate is for another name or address.
    public static let serverNameMismatch = Code(description: "SERVER_NAME_MISMATCH")
    /// A client certificate is required and the client sent none.
    public static let certificateMissing = Code(description: "CERTIFICATE_MISSING")
    /// The peers have no application protocol (ALPN) in common.
    public static let noApplicationProtocol = Code(description: "NO_APPLICATION_PROTOCOL")
    /// The peers have no TLS version or cipher suite in common.
    public static let noCommonParameters = Code(description: "NO_COMMON_PARAMETERS")
    /// The peer asked to renegotiate.
    public static let renegotiation = Code(description: "RENEGOTIATION")
    /// The peer sent more KeyUpdate or NewSessionTicket messages than ``TLSLimits/postHandshakeMessages`` allows.
    public static let postHandshakeFlood = Code(description: "POST_HANDSHAKE_FLOOD")
    /// The transport ended without the peer's close_notify: bytes may be missing.
    public static let truncated = Code(description: "TRUNCATED")
    /// The peer ended the connection with a fatal alert; see ``TLSError/alert``.
    public static let peerAlert = Code(description: "PEER_ALERT")
    /// The peer broke the protocol.
    public static let protocolViolation = Code(description: "PROTOCOL_VIOLATION")
    /// OpenSSL or the machine failed: no memory, no randomness.
    public static let `internal` = Code(description: "INTERNAL")
  }

  /// The kind of failure.
  public let code: Code
  /// One sentence for the log.
  public let message: String
  /// The number of the fatal alert that the peer sent (RFC 8446, section 6), if that is what ended the connection.
  public let alert: UInt8?

  init(_ code: Code, _ message: String, alert: UInt8? = nil) {
    self.code = code
    self.message = message
    self.alert = alert
  }

  /// The kind and the message in one line.
  public var description: String { "TLS \(code): \(message)" }
}
