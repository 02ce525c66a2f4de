/// The algorithms this module knows. There are no others: `none` and the symmetric ones cannot be named, let alone allowed.
public enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
  /// RSASSA-PKCS1-v1_5 with SHA-256.
  case rs256 = "RS256"
  /// ECDSA on P-256 with SHA-256, signatures as `r || s`.
  case es256 = "ES256"
}

/// What names a key within a set: 1 to 256 printable ASCII characters.
///
/// ASCII only, so that comparing two of them as strings is comparing their bytes.
enum KeyID {
  static let maximumByteCount = 256

  static func isValid(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= maximumByteCount && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }
}
