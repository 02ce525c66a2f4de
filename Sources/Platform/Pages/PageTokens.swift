internal import JOSE

/// Seals where lists go on, so that a list continues only where it was left.
///
/// A token names its list and its reader besides the place: one of another list, of another person's, or made up, is none. Whoever has one
/// can read the place in it, which is of a row that they have seen.
public struct PageTokens: Sendable {
  private static let sealSize = 16
  /// No place has more bytes, so no longer text is looked at.
  private static let longestPlace = 64

  private let key: [UInt8]

  /// Tokens that are sealed with `key`, the same in all copies of a service.
  public init(key: [UInt8]) { self.key = key }

  /// A token as clients carry it about.
  ///
  /// - Parameters:
  ///   - place: What the last row of the page is found by, at most 64 bytes.
  ///   - list: The list, by a name that no other has: its method's.
  ///   - reader: Whose list it is; empty for one that all its callers see alike.
  public func seal(_ place: [UInt8], in list: String, of reader: String = "") -> String {
    precondition(place.count <= Self.longestPlace, "a place has at most \(Self.longestPlace) bytes")
    return Base64URL.encode(place + code(place, list, reader))
  }

  /// The place in a token; nil for every text that ``seal(_:in:of:)`` has not made for the same list and reader.
  public func open(_ token: String, in list: String, of reader: String = "") -> [UInt8]? {
    guard token.utf8.count <= (Self.longestPlace + Self.sealSize) * 4 / 3 + 1, let bytes = Base64URL.decode(token),
      bytes.count >= Self.sealSize
    else { return nil }
    let place = Array(bytes.dropLast(Self.sealSize))
    return ConstantTime.areEqual(Array(bytes.suffix(Self.sealSize)), code(place, list, reader)) ? place : nil
  }

  /// Names hold no U+0000, so nothing else has the same bytes.
  private func code(_ place: [UInt8], _ list: String, _ reader: String) -> [UInt8] {
    let head = Array("page\0\(list)\0\(reader)\0".utf8)
    return Array(HMACSHA256.authenticationCode(for: head + place, key: key).prefix(Self.sealSize))
  }
}
