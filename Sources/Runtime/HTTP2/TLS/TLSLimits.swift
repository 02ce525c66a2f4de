/// The bounds of a TLS connection that are not OpenSSL's own.
public enum TLSLimits {
  /// Handshake messages (KeyUpdate, NewSessionTicket) that a peer may send after the handshake for each
  /// ``plaintextPerRefill`` bytes of data. An honest peer sends two tickets, and a KeyUpdate every few hundred gigabytes.
  public static let postHandshakeMessages: UInt32 = 64
  /// Bytes of received plaintext after which a peer may send ``postHandshakeMessages`` more.
  public static let plaintextPerRefill = 1 << 20
  /// The longest certificate chain, in certificates above the leaf.
  public static let chainDepth: Int32 = 8
  /// The largest PEM file or text, in bytes.
  public static let pemBytes = 1 << 20
  /// The most plaintext in one record (RFC 8446, section 5.1), in bytes: a plaintext buffer should have at least as many.
  public static let recordPlaintext = 16_384
}
