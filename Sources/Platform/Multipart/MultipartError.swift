/// What is wrong with a body that should be a form. Nothing of the body is in it.
public struct MultipartError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of fault.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name in logs and answers.
    public let description: String

    /// The content type is another one.
    public static let notMultipart = Code(description: "not_multipart")
    /// The content type names no boundary that may be one.
    public static let noBoundary = Code(description: "no_boundary")
    /// A boundary, a header or a name is not as it should be.
    public static let malformed = Code(description: "malformed")
    /// The body ends before its last boundary.
    public static let truncated = Code(description: "truncated")
    /// There are more parts than are read.
    public static let tooManyParts = Code(description: "too_many_parts")
    /// A part's headers are longer than allowed.
    public static let headerTooLarge = Code(description: "header_too_large")
  }

  /// The kind.
  public let code: Code
  /// What was found, safe to send.
  public let message: String

  /// An error.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The code and the message.
  public var description: String { "\(code): \(message)" }
}
