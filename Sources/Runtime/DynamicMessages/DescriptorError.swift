/// Why descriptors that came from outside cannot be used.
public struct DescriptorError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of fault.
  public struct Code: Sendable, Hashable {
    let name: String

    /// A descriptor breaks the rules of the language: a bad number, a name that is no name, an index that leads nowhere.
    public static let invalid = Code(name: "invalid")
    /// Two declarations have one name, or two files.
    public static let duplicate = Code(name: "duplicate")
    /// A type is used that no file declares.
    public static let missing = Code(name: "missing")
    /// Something that is not supported: groups.
    public static let unsupported = Code(name: "unsupported")
    /// More than any honest set of files holds.
    public static let tooLarge = Code(name: "too large")
  }

  /// The kind of fault.
  public let code: Code
  /// What is wrong and where. Names in it are identifiers, or quoted and escaped.
  public let message: String

  /// An error.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message.
  public var description: String { message }
}
