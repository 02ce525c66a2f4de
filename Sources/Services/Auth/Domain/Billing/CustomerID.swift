/// A RevenueCat customer, by one of the ids that it is known by: an account's id, an anonymous `$RCAnonymousID:…`, or anything
/// else that an app chose.
public struct CustomerID: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The longest one, in bytes of UTF-8.
  public static let maximumByteCount = 1500

  /// The id as RevenueCat writes it.
  public let text: String

  /// Reads an id; nil when it is empty, too long, holds control characters, or would be a step in a path.
  public init?(_ text: String) {
    guard (1...Self.maximumByteCount).contains(text.utf8.count), text != ".", text != "..",
      text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f })
    else { return nil }
    self.text = text
  }

  /// The customer that an account is, once its app has signed in to RevenueCat.
  public init(_ user: UserID) { text = user.description }

  /// The account whose own id it would be, written as accounts write theirs; nil for any other text. Whether there is such an
  /// account is another question: an app of before may have given its people UUIDs, too.
  public var user: UserID? {
    guard let user = UserID(text), user.description == text else { return nil }
    return user
  }

  /// The id.
  public var description: String { text }

  /// The order of the bytes: the order in which locks are taken.
  public static func < (left: CustomerID, right: CustomerID) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  /// The same bytes: Unicode's equivalences do not count.
  public static func == (left: CustomerID, right: CustomerID) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
}
