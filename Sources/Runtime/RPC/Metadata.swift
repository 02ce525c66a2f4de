/// The headers or trailers of a call that belong to its users: names with text or, where the name ends in `-bin`, bytes.
///
/// A name may occur several times; the order is kept. Names are lower-case ASCII. The names that gRPC and HTTP/2 need for
/// themselves never appear here.
///
/// Names that a program writes itself are literals; one that comes from elsewhere, a caller's above all, is judged before it is taken:
/// ``append(checking:_:)-(_,String)``. Values are judged when they are sent: a call whose handler set one that may not be is INTERNAL.
public struct Metadata: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  /// One name with one value.
  public struct Entry: Sendable, Hashable {
    /// Lower-case; ends in `-bin` exactly when the value is binary.
    public let name: String
    /// The value.
    public let value: Value

    /// Joins a name that was checked, or is one of the protocol's own, with a value of its form.
    package init(name: String, value: Value) {
      self.name = name
      self.value = value
    }

    /// The value of one entry.
    public enum Value: Sendable, Hashable {
      /// Printable ASCII, without blanks at the ends.
      case text(String)
      /// Any bytes; sent in base64.
      case binary([UInt8])
    }
  }

  /// All entries in their order.
  public private(set) var entries: [Entry] = []

  /// No entries.
  public init() {}

  /// Text entries in the order written.
  public init(dictionaryLiteral elements: (StaticString, String)...) {
    for (name, value) in elements { append(name, value) }
  }

  /// Whether there are no entries.
  public var isEmpty: Bool { entries.isEmpty }

  /// The first text value of `name`.
  public subscript(name: String) -> String? {
    for entry in entries where entry.name == name { if case .text(let text) = entry.value { return text } }
    return nil
  }

  /// The first text value of a name that is written here; setting replaces all values of it, and nil removes them.
  public subscript(name: StaticString) -> String? {
    get { self[name.description] }
    set {
      removeAll(name.description)
      if let newValue { append(name, newValue) }
    }
  }

  /// All text values of `name`, in order.
  public func values(of name: String) -> [String] {
    entries.compactMap { entry in
      guard entry.name == name, case .text(let text) = entry.value else { return nil }
      return text
    }
  }

  /// The first binary value of `name`, which ends in `-bin`.
  public func binary(_ name: String) -> [UInt8]? {
    for entry in entries where entry.name == name { if case .binary(let bytes) = entry.value { return bytes } }
    return nil
  }

  /// Adds a text value under a name that is written here: one that is no name of text metadata is a programmer's mistake.
  public mutating func append(_ name: StaticString, _ value: String) {
    let name = name.description
    precondition(Self.isValidName(name) && !name.hasSuffix(Self.binarySuffix), "'\(name)' is no name of text metadata")
    entries.append(Entry(name: name, value: .text(value)))
  }

  /// Adds a binary value under a name that is written here and ends in `-bin`.
  public mutating func append(_ name: StaticString, _ value: [UInt8]) {
    let name = name.description
    precondition(Self.isValidName(name) && name.hasSuffix(Self.binarySuffix), "'\(name)' is no name of binary metadata")
    entries.append(Entry(name: name, value: .binary(value)))
  }

  /// Adds a text value under a name that comes from elsewhere.
  ///
  /// - Throws: ``MetadataError``: the name is none of text metadata, or the value may not be sent.
  public mutating func append(checking name: String, _ value: String) throws(MetadataError) {
    guard Self.mayBeTaken(name), !name.hasSuffix(Self.binarySuffix) else { throw MetadataError(.invalidName, name) }
    guard Self.isValidText(value) else { throw MetadataError(.invalidValue, name) }
    entries.append(Entry(name: name, value: .text(value)))
  }

  /// Adds a binary value under a name that comes from elsewhere.
  ///
  /// - Throws: ``MetadataError``: the name is none of binary metadata.
  public mutating func append(checking name: String, _ value: [UInt8]) throws(MetadataError) {
    guard Self.mayBeTaken(name), name.hasSuffix(Self.binarySuffix) else { throw MetadataError(.invalidName, name) }
    entries.append(Entry(name: name, value: .binary(value)))
  }

  /// Adds an entry of other metadata.
  public mutating func append(_ entry: Entry) { entries.append(entry) }

  /// Adds all entries of `other`.
  public mutating func append(contentsOf other: Metadata) { entries.append(contentsOf: other.entries) }

  /// Removes every value of `name`.
  public mutating func removeAll(_ name: String) { entries.removeAll { $0.name == name } }

  /// Whether `name` has the form of one: `[0-9a-z_.-]`, not empty, and without the prefix that gRPC keeps for itself.
  public static func isValidName(_ name: String) -> Bool {
    guard !name.isEmpty, !name.hasPrefix("grpc-") else { return false }
    return name.utf8.allSatisfy { byte in
      (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || byte == 0x2d || byte == 0x5f || byte == 0x2e
    }
  }

  /// What HTTP/2 has no place for (RFC 9113, section 8.2.2), and what says how the message itself is to be read: nobody else's words
  /// get there.
  private static let reserved: Set<String> = [
    "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "te", "host", "content-type",
    "content-length",
    "content-encoding", "accept-encoding",
  ]

  private static func mayBeTaken(_ name: String) -> Bool {
    isValidName(name) && !name.hasPrefix("connect-") && !reserved.contains(name)
  }

  private static let binarySuffix = "-bin"

  /// Whether `value` may be sent as text: bytes 0x20 to 0x7E, no blank at either end.
  public static func isValidText(_ value: String) -> Bool {
    let bytes = value.utf8
    return bytes.allSatisfy { $0 >= 0x20 && $0 <= 0x7e } && bytes.first != 0x20 && bytes.last != 0x20
  }

  /// The first entry whose value may not be sent, as an error; nil where there is none.
  package var unsendable: MetadataError? {
    guard !entries.isEmpty else { return nil }
    for entry in entries {
      if case .text(let text) = entry.value, !Self.isValidText(text) { return MetadataError(.invalidValue, entry.name) }
    }
    return nil
  }
}

/// Metadata that may not be sent. Says the name and never the value, which may be a secret.
public struct MetadataError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong.
  public enum Code: String, Sendable {
    /// Not a name of metadata, not one of this kind of value, or one that the protocol keeps for itself.
    case invalidName = "INVALID_NAME"
    /// A text with other bytes than 0x20 to 0x7E, or with a blank at an end.
    case invalidValue = "INVALID_VALUE"
  }

  /// What is wrong.
  public let code: Code
  /// The name, as far as it is shown: 64 characters.
  public let name: String

  init(_ code: Code, _ name: String) {
    self.code = code
    self.name = String(name.prefix(64))
  }

  /// For the log.
  public var description: String {
    switch code {
    case .invalidName: "'\(name)' is no name of such metadata"
    case .invalidValue: "the value of the metadata '\(name)' may not be sent"
    }
  }
}
