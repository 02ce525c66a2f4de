/// Reads one JSON text strictly by RFC 8259.
///
/// Refused, beyond what the grammar refuses: a byte-order mark, bytes that are not UTF-8, escapes that name half of a
/// surrogate pair, nesting and size beyond the limits, and, by default, two members of one name.
public enum JSONParser {
  /// What to accept.
  public struct Options: Sendable, Hashable {
    /// What to do with an object that names a member twice.
    public enum DuplicateNames: Sendable, Hashable {
      /// Refuse the text.
      case refused
      /// The last value counts, at the first one's place.
      case lastWins
    }

    /// Nesting beyond this is never allowed, whatever ``maximumDepth`` says: reading, comparing and releasing a value
    /// recurse, and must fit a small stack.
    public static let depthCeiling = 512

    /// How many arrays and objects may lie inside each other, at most ``depthCeiling``. `[]` has depth 1.
    public var maximumDepth: Int
    /// What to do with an object that names a member twice.
    public var duplicateNames: DuplicateNames
    /// The longest text, in bytes.
    public var maximumByteCount: Int
    /// Whether to refuse numbers that are too large for a double, such as `1e400`.
    public var requiresFiniteNumbers: Bool

    /// The defaults: depth 100, no duplicates, 16 MiB, numbers of any size.
    public init(
      maximumDepth: Int = 100, duplicateNames: DuplicateNames = .refused, maximumByteCount: Int = 16 << 20,
      requiresFiniteNumbers: Bool = false
    ) {
      self.maximumDepth = maximumDepth
      self.duplicateNames = duplicateNames
      self.maximumByteCount = maximumByteCount
      self.requiresFiniteNumbers = requiresFiniteNumbers
    }
  }

  /// Reads a text that lies in memory of the caller. The bytes are not kept.
  ///
  /// - Throws: ``JSONError`` with the offset of the byte that was refused.
  public static func parse(_ bytes: UnsafeRawBufferPointer, options: Options = Options()) throws(JSONError) -> JSONValue {
    guard bytes.count <= max(0, options.maximumByteCount) else {
      throw JSONError(
        code: .tooLarge, offset: max(0, options.maximumByteCount),
        message: "the text is longer than \(options.maximumByteCount) bytes")
    }
    var reader = JSONReader(bytes: bytes, options: options)
    return try reader.readText()
  }

  /// Reads a text.
  ///
  /// - Throws: ``JSONError`` with the offset of the byte that was refused.
  public static func parse(_ bytes: [UInt8], options: Options = Options()) throws(JSONError) -> JSONValue {
    try bytes.withUnsafeBufferPointer { (buffer) throws(JSONError) in
      try parse(UnsafeRawBufferPointer(buffer), options: options)
    }
  }

  /// Reads a text.
  ///
  /// - Throws: ``JSONError`` with the offset of the byte that was refused.
  public static func parse(_ bytes: Span<UInt8>, options: Options = Options()) throws(JSONError) -> JSONValue {
    try bytes.withUnsafeBufferPointer { (buffer) throws(JSONError) in
      try parse(UnsafeRawBufferPointer(buffer), options: options)
    }
  }

  /// Reads a text.
  ///
  /// - Throws: ``JSONError`` with the offset, in UTF-8 bytes, of the byte that was refused.
  public static func parse(_ text: String, options: Options = Options()) throws(JSONError) -> JSONValue {
    try parse(Array(text.utf8), options: options)
  }
}
