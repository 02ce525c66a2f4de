/// What is wrong with a data URL. Nothing of its content is in it.
public struct DataURLError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of fault.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name in logs and answers.
    public let description: String

    /// It does not begin with `data:`.
    public static let notADataURL = Code(description: "not_a_data_url")
    /// No comma ends the header.
    public static let noComma = Code(description: "no_comma")
    /// The header is longer than any real one.
    public static let headerTooLong = Code(description: "header_too_long")
    /// No media type, or none that may be one.
    public static let invalidMediaType = Code(description: "invalid_media_type")
    /// A parameter has no name or no value, or comes twice.
    public static let invalidParameter = Code(description: "invalid_parameter")
    /// The content is not said to be base64.
    public static let notBase64 = Code(description: "not_base64")
    /// The content is no base64: another character, wrong padding, bits left over.
    public static let invalidBase64 = Code(description: "invalid_base64")
    /// There is no content.
    public static let empty = Code(description: "empty")
    /// The content has more bytes than allowed; it was not decoded.
    public static let tooLarge = Code(description: "too_large")
  }

  /// The kind.
  public let code: Code

  /// An error.
  public init(_ code: Code) { self.code = code }

  /// The kind.
  public var description: String { code.description }
}
