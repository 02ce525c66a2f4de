/// Why a service config is refused: where in the JSON, and what is wrong there.
public struct ServiceConfigError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of mistakes.
  public struct Code: Sendable, Hashable {
    let name: String
    /// The text is no JSON.
    public static let notJSON = Code(name: "not_json")
    /// A field that is not known, or not supported here.
    public static let unknownField = Code(name: "unknown_field")
    /// A field that must be there is not.
    public static let missingField = Code(name: "missing_field")
    /// A value of the wrong type, out of range, or in conflict with another.
    public static let invalidValue = Code(name: "invalid_value")
  }

  /// The kind of mistake.
  public let code: Code
  /// Where it is: `methodConfig[0].retryPolicy.maxAttempts`.
  public let path: String
  /// What is wrong there.
  public let message: String

  init(_ code: Code, _ path: String, _ message: String) {
    self.code = code
    self.path = path
    self.message = message
  }

  /// Path and message.
  public var description: String { path.isEmpty ? message : "\(path): \(message)" }
}
