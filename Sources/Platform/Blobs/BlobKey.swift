public import PostgreSQL

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
    guard digest.count == 32 else { return nil }
    self.owner = owner
    self.digest = digest
  }

  /// Reads `{owner}/{digest}`, the UUID in lower case and 64 hexadecimal digits in lower case; nil for anything else.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let owner = UUID(String(parts[0])), owner.description == parts[0], parts[1].utf8.count == 64 else {
      return nil
    }
    var digest: [UInt8] = []
    var digits = parts[1].utf8.makeIterator()
    while let high = digits.next(), let low = digits.next() {
      guard let high = Self.value(high), let low = Self.value(low) else { return nil }
      digest.append(high << 4 | low)
    }
    self.init(owner: owner, digest: digest)
  }

  /// The digest as 64 hexadecimal digits in lower case.
  public var hexadecimal: String { Hexadecimal.text(digest) }

  /// `{owner}/{digest}`.
  public var description: String { "\(owner)/\(hexadecimal)" }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
