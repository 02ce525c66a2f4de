/// Why bytes or JSON are not a message of the expected type.
public struct DecodeError: Error, Sendable, Hashable {
  /// The kind of fault.
  public struct Code: Sendable, Hashable {
    let name: String

    /// The bytes break the format: a length past the end, a bad tag, an unbalanced group, broken JSON.
    public static let malformed = Code(name: "malformed")
    /// Messages are nested deeper than 100 levels.
    public static let tooDeep = Code(name: "too deep")
    /// A string is not UTF-8.
    public static let invalidUTF8 = Code(name: "invalid UTF-8")
    /// Decoding would take more memory than the limits allow; to a caller this is RESOURCE_EXHAUSTED.
    public static let budgetExceeded = Code(name: "budget exceeded")
    /// JSON names a field or an enum value that does not exist.
    public static let unknownField = Code(name: "unknown field")
    /// A JSON value has the wrong type or lies outside the field's range.
    public static let invalidValue = Code(name: "invalid value")
  }

  /// The kind of fault.
  public let code: Code
  /// What is wrong, without any of the content: safe to send to the caller.
  public let message: String

  /// An error.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}

/// Why a message cannot be written.
public struct EncodeError: Error, Sendable, Hashable {
  /// The kind of fault.
  public struct Code: Sendable, Hashable {
    let name: String

    /// Messages are nested deeper than 100 levels.
    public static let tooDeep = Code(name: "too deep")
    /// The message would not fit into 2 GiB.
    public static let tooLarge = Code(name: "too large")
    /// A value has no JSON form: a `Timestamp` outside the years 1 to 9999, a `Value` without a kind, an unknown `Any`.
    public static let invalidValue = Code(name: "invalid value")
  }

  /// The kind of fault.
  public let code: Code
  /// What is wrong, without any of the content.
  public let message: String

  /// An error.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}

extension DecodeError: CustomStringConvertible {
  /// Code and message.
  public var description: String { "\(code.name): \(message)" }
}

extension EncodeError: CustomStringConvertible {
  /// Code and message.
  public var description: String { "\(code.name): \(message)" }
}

/// How much a decoder may spend on one message.
public struct DecodeLimits: Sendable, Hashable {
  /// Memory that the decoded slots may take for each byte of input.
  public var memoryPerByte: Int
  /// Memory that every message may take whatever its size, in bytes.
  public var memoryFloor: Int
  /// Memory that no message may exceed, in bytes.
  public var memoryCeiling: Int

  /// The deepest nesting of messages below the outermost one, in the wire format and in JSON.
  public static let maximumDepth = 100

  /// Limits; the defaults are 32 bytes per byte plus 256 KiB, at most 256 MiB. A list of messages with one small number each
  /// takes about 20 bytes per byte.
  public init(memoryPerByte: Int = 32, memoryFloor: Int = 256 << 10, memoryCeiling: Int = 256 << 20) {
    self.memoryPerByte = memoryPerByte
    self.memoryFloor = memoryFloor
    self.memoryCeiling = memoryCeiling
  }

  /// The memory that a message of this many bytes may take.
  @inlinable public func budget(forInput count: Int) -> Int {
    let (scaled, overflow) = count.multipliedReportingOverflow(by: memoryPerByte)
    return overflow ? memoryCeiling : min(scaled + memoryFloor, memoryCeiling)
  }
}
