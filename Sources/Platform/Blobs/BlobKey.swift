internal import JOSE
public import Values

/// The name of a blob: whose it is, and what is in it.
///
/// Named by its content, a blob that is stored twice is stored once; named by its owner first, all of a person's can be found and
/// deleted, and nobody's content tells that somebody else has the same.
public struct BlobKey: Sendable, Hashable, CustomStringConvertible {
  /// Whose it is.
  public let owner: UUID
  /// SHA-256 of the content: 32 bytes.
  public let digest: [UInt8]

  /// A name; nil unless the digest has 32 bytes.
  public init?(owner: UUID, digest: [UInt8]) {
    guard digest.count == SHA256.byteCount else { return nil }
    self.owner = owner
    self.digest = digest
  }

  /// The name of content that is in memory.
  public init(owner: UUID, content: [UInt8]) {
    self.owner = owner
    digest = SHA256.digest(content)
  }

  /// Reads `{owner}/{digest}`, the UUID in lower case and 64 hexadecimal digits in lower case; nil for anything else.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let owner = UUID(String(parts[0])), owner.description == parts[0],
      let digest = Hexadecimal.bytes(parts[1])
    else { return nil }
    self.init(owner: owner, digest: digest)
  }

  /// The digest as 64 hexadecimal digits in lower case.
  public var hexadecimal: String { Hexadecimal.text(digest) }

  /// `{owner}/{digest}`.
  public var description: String { "\(owner)/\(hexadecimal)" }
}
