/// The name of a service account: its e-mail address, in lower case.
public struct ServiceAccountName: Sendable, Hashable, CustomStringConvertible {
  /// The address.
  public let text: String

  /// Reads an address: letters, digits, hyphens, underscores and dots, with one `@` between two parts. Nil for anything else, so
  /// that a name fits into a URL as it is.
  public init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    guard parts.count == 2, text.utf8.count <= 254,
      parts.allSatisfy({ part in
        !part.isEmpty
          && part.allSatisfy {
            (0x30...0x39).contains($0) || (0x61...0x7a).contains($0 | 0x20)
              || [UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ".")].contains($0)
          }
      })
    else { return nil }
    self.text = text.lowercased()
  }

  /// The address.
  public var description: String { text }
}
