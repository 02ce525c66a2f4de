/// One field of a message: its number, names, type, and the offsets of its slots.
public struct FieldDescriptor: Sendable {
  /// How often a field may occur and how its absence shows.
  public enum Shape: Sendable {
    /// At most once; a default value is the same as absence. `has` is 0 if the value itself tells (integers, text).
    case implicit(has: Int)
    /// At most once with a flag at `has` (an `Int32`); a sub-message needs none, its pointer tells: `has` is 0.
    case optional(has: Int)
    /// One of several fields that share a slot; `caseAt` is the offset of the number of the one that is set.
    case oneof(caseAt: Int)
    /// Any number of times; the count (a `size_t`) lies 8 bytes before the pointer to the elements.
    case repeated(packed: Bool)
    /// A repeated `{key, value}` message with unique keys.
    case map
  }

  /// The type of a field's values.
  public enum Kind: Sendable {
    /// A scalar, text or bytes.
    case scalar(Scalar)
    /// An open enum, stored as its number.
    case enumeration(@Sendable () -> EnumDescriptor)
    /// A sub-message, stored as a pointer to its slots. Looked up late because messages may refer to themselves.
    case message(@Sendable () -> MessageDescriptor)
  }

  /// The scalar types of the `.proto` language.
  public enum Scalar: UInt8, Sendable {
    /// An `Int32`: as a varint, as one that is short for small negative numbers too, as four bytes.
    case int32, sint32, sfixed32
    /// An `Int64`: as a varint, as one that is short for small negative numbers too, as eight bytes.
    case int64, sint64, sfixed64
    /// A `UInt32`: as a varint, as four bytes.
    case uint32, fixed32
    /// A `UInt64`: as a varint, as eight bytes.
    case uint64, fixed64
    /// A `Float` and a `Double`.
    case float, double
    /// A `Bool`, four bytes in its slot.
    case bool
    /// A `String`, which is UTF-8 on the wire.
    case string
    /// ``Bytes``.
    case bytes
  }

  /// The number on the wire, 1 to 536,870,911.
  public let number: Int32
  /// The name in the `.proto` file.
  public let name: String
  /// The name in JSON.
  public let jsonName: String
  /// The type of the values.
  public let kind: Kind
  /// How often it may occur.
  public let shape: Shape
  /// The offset of the value, or of the pointer to the elements, in bytes from the start of the slots.
  public let offset: Int

  /// Describes a field.
  ///
  /// - Parameters:
  ///   - number: The number on the wire.
  ///   - name: The name in the `.proto` file.
  ///   - jsonName: The name in JSON; nil if it is the same.
  ///   - kind: The type of the values.
  ///   - shape: How often it may occur.
  ///   - offset: The offset of the value in bytes.
  public init(_ number: Int32, _ name: String, json jsonName: String? = nil, _ kind: Kind, _ shape: Shape, at offset: Int) {
    self.number = number
    self.name = name
    self.jsonName = jsonName ?? name
    self.kind = kind
    self.shape = shape
    self.offset = offset
  }
}

extension FieldDescriptor {
  /// The offset of the element count of a repeated or map field.
  public var countOffset: Int { offset - 8 }
}
