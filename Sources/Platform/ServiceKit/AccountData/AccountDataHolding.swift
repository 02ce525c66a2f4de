public import Values

/// Who keeps something of people: what a service does for a person's export and at the end of the account.
///
/// A service implements it over its own tables; `Providers/Parley` serves it to the auth service and asks other services by it.
/// Every method may be called any number of times. An account that nothing is known of is no error.
public protocol AccountDataHolding: Sendable {
  /// Hands out everything that is kept of a person, document by document.
  ///
  /// - Parameters:
  ///   - user: The account.
  ///   - send: Takes the next part. The parts of a document come one after the other, and no document comes twice. It suspends while
  ///     the receiver is slower, and throws when there is no receiver any more.
  func export(of user: UUID, _ send: @escaping @Sendable (AccountDocumentPart) async throws -> Void) async throws

  /// Deletes everything that is kept of a person.
  ///
  /// - Parameters:
  ///   - user: The account.
  ///   - work: The deletion: calls with the same one are one deletion.
  /// - Returns: What all calls for this deletion have deleted, and what is still there and why.
  /// - Throws: When something could not be deleted; the next call goes on.
  func delete(of user: UUID, work: UUID) async throws -> [AccountDataCount]

  /// Counts what is kept of a person now.
  func report(of user: UUID) async throws -> [AccountDataCount]
}

/// A part of a document of a person's export.
public struct AccountDocumentPart: Sendable, Hashable {
  /// The document's name: see ``AccountDataName/isDocument(_:)``. A table is JSON lines: `notes.jsonl`.
  public var document: String
  /// Its media type.
  public var contentType: String
  /// The next bytes, any number of them.
  public var data: [UInt8]

  /// A part.
  public init(_ document: String, contentType: String = "application/jsonl", data: [UInt8]) {
    self.document = document
    self.contentType = contentType
    self.data = data
  }
}

/// How much of a kind was deleted, and how much there is.
public struct AccountDataCount: Sendable, Hashable {
  /// What it is, in the plural: see ``AccountDataName/isKind(_:)``.
  public var kind: String
  /// How many were deleted.
  public var deleted: Int64
  /// How many there are now.
  public var held: Int64
  /// Why they stay after a deletion, in a sentence for the person; empty for what a deletion takes away.
  public var whyHeld: String

  /// A count.
  public init(_ kind: String, deleted: Int64 = 0, held: Int64 = 0, whyHeld: String = "") {
    self.kind = kind
    self.deleted = deleted
    self.held = held
    self.whyHeld = whyHeld
  }
}

/// What documents and kinds may be called: names that are good names of files, whatever service they come from.
public enum AccountDataName {
  /// Whether it is 1 to 64 characters of a-z, 0-9, `.`, `_` and `-`, the first one a letter or a digit.
  public static func isDocument(_ name: String) -> Bool {
    isName(name) { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
  }

  /// Whether it is 1 to 64 characters of a-z, 0-9 and `_`, the first one a letter or a digit.
  public static func isKind(_ name: String) -> Bool { isName(name) { $0 == UInt8(ascii: "_") } }

  private static func isName(_ name: String, _ isSign: (UInt8) -> Bool) -> Bool {
    func isPlain(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) }
    guard (1...64).contains(name.utf8.count), let first = name.utf8.first, isPlain(first) else { return false }
    return name.utf8.allSatisfy { isPlain($0) || isSign($0) }
  }
}
