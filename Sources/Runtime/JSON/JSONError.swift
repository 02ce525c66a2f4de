/// Why a text is not acceptable JSON, and where.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of refusal. New kinds may be added: compare with the known ones and treat the rest as ``syntax``.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The word that stands for the kind in logs.
    public let description: String

    /// The bytes do not follow the grammar: a wrong or missing token, a trailing comma, a byte-order mark.
    public static let syntax = Code(description: "syntax")
    /// The text ended inside a value.
    public static let unexpectedEnd = Code(description: "unexpected_end")
    /// Something other than white space follows the value.
    public static let trailingBytes = Code(description: "trailing_bytes")
    /// A number is misspelled: a leading zero or plus sign, a bare point, `NaN`.
    public static let invalidNumber = Code(description: "invalid_number")
    /// A number is too large for a double, and the options forbid that.
    public static let numberNotFinite = Code(description: "number_not_finite")
    /// A raw control character stands inside a string.
    public static let controlCharacter = Code(description: "control_character")
    /// An escape is misspelled, or names half of a surrogate pair.
    public static let invalidEscape = Code(description: "invalid_escape")
    /// A string is not UTF-8.
    public static let invalidUTF8 = Code(description: "invalid_utf8")
    /// An object has two members of one name, and the options forbid that.
    public static let duplicateName = Code(description: "duplicate_name")
    /// Arrays and objects are nested deeper than the options allow.
    public static let tooDeep = Code(description: "too_deep")
    /// The text is longer than the options allow.
    public static let tooLarge = Code(description: "too_large")
  }

  /// The kind of refusal.
  public let code: Code
  /// The offset of the byte that was refused, from 0; for a string that is not UTF-8 and for a duplicate name, of its
  /// opening quote.
  public let offset: Int
  /// What is wrong, in words that quote nothing of the text and are safe to send to its author.
  public let message: String

  /// An error at a place.
  public init(code: Code, offset: Int, message: String) {
    self.code = code
    self.offset = offset
    self.message = message
  }

  /// The message and the place.
  public var description: String { "\(message) at byte \(offset)" }
}
