/// The headers or trailers of a call that belong to its users: names with text or, where the name ends in `-bin`, bytes.
///
/// A name may occur several times; the order is kept. Names are lower-case ASCII. The names that gRPC and HTTP/2 need for
/// themselves never appear here.
public struct Metadata: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  /// One name with one value.
  public struct Entry: Sendable, Hashable {
    /// Lower-case; ends in `-bin` exactly when the value is binary.
    public var name: String
    /// The value.
    public var value: Value

    /// Joins a name that was checked with a value of its form.
    public init(name: String, value: Value) {
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
  public init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { append(name, value) }
  }

  /// Whether there are no entries.
  public var isEmpty: Bool { entries.isEmpty }

  /// The first text value of `name`; setting replaces all values of it, and nil removes them.
  public subscript(name: String) -> String? {
    get {
      for entry in entries where entry.name == name { if case .text(let text) = entry.value { return text } }
      return nil
    }
    set {
      removeAll(name)
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

  /// Adds a text value.
  public mutating func append(_ name: String, _ value: String) {
    precondition(Self.isValidName(name) && !name.hasSuffix("-bin"), "'\(name)' is no name of text metadata")
    entries.append(Entry(name: name, value: .text(value)))
  }

  /// Adds a binary value; `name` ends in `-bin`.
  public mutating func append(_ name: String, _ value: [UInt8]) {
    precondition(Self.isValidName(name) && name.hasSuffix("-bin"), "'\(name)' is no name of binary metadata")
    entries.append(Entry(name: name, value: .binary(value)))
  }

  /// Adds an entry whose form was checked already.
  public mutating func append(_ entry: Entry) { entries.append(entry) }

  /// Adds all entries of `other`.
  public mutating func append(contentsOf other: Metadata) { entries.append(contentsOf: other.entries) }

  /// Removes every value of `name`.
  public mutating func removeAll(_ name: String) { entries.removeAll { $0.name == name } }

  /// Whether `name` may be used: `[0-9a-z_.-]`, not empty, and not one that the protocol keeps for itself.
  public static func isValidName(_ name: String) -> Bool {
    guard !name.isEmpty, !name.hasPrefix("grpc-") else { return false }
    return name.utf8.allSatisfy { byte in
      (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || byte == 0x2d || byte == 0x5f || byte == 0x2e
    }
  }

  /// Whether `value` may be sent as text: bytes 0x20 to 0x7E, no blank at either end.
  public static func isValidText(_ value: String) -> Bool {
    let bytes = value.utf8
    return bytes.allSatisfy { $0 >= 0x20 && $0 <= 0x7e } && bytes.first != 0x20 && bytes.last != 0x20
  }
}
