/// One JSON value (RFC 8259), with nothing lost: numbers keep their text and objects keep the order of their members.
///
/// Equality is exact: strings and names are compared by their UTF-8 bytes, never by canonical equivalence (Swift's own `==`
/// takes U+212A, the Kelvin sign, for the letter K), numbers by their text, objects member by member in order.
///
/// Nesting is not limited here, only by the parser. A value built by hand that is nested tens of thousands deep may exhaust
/// the stack when it is written, compared or released.
public enum JSONValue: Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number, as it was spelled.
  case number(JSONNumber)
  /// A string, with its escapes resolved.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object, whose names are distinct.
  case object(JSONObject)
}

extension JSONValue {
  /// The text, if this is a string.
  public var string: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// The truth value, if this is `true` or `false`.
  public var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The number, if this is one.
  public var number: JSONNumber? {
    if case .number(let value) = self { value } else { nil }
  }

  /// The elements, if this is an array.
  public var array: [JSONValue]? {
    if case .array(let value) = self { value } else { nil }
  }

  /// The members, if this is an object.
  public var object: JSONObject? {
    if case .object(let value) = self { value } else { nil }
  }

  /// Whether this is `null`.
  public var isNull: Bool {
    if case .null = self { true } else { false }
  }

  /// The number as a signed integer: nil if this is no number, or one with a fraction, or out of range.
  public var int64: Int64? { number?.int64 }

  /// The member of that name, if this is an object that has one.
  public subscript(name: String) -> JSONValue? { object?[name] }

  /// The value as compact JSON text in UTF-8.
  public func encoded() -> [UInt8] {
    var writer = JSONWriter()
    writer.value(self)
    return writer.bytes
  }
}

extension JSONValue: Hashable {
  /// Whether both are the same value, spelled with the same bytes.
  public static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.number(let a), .number(let b)): a == b
    case (.string(let a), .string(let b)): a.hasSameBytes(as: b)
    case (.array(let a), .array(let b)): a == b
    case (.object(let a), .object(let b)): a == b
    default: false
    }
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value ? 1 : 2)
    case .number(let value):
      hasher.combine(3)
      hasher.combine(value)
    case .string(let value):
      hasher.combine(4)
      value.hashBytes(into: &hasher)
    case .array(let value):
      hasher.combine(5)
      hasher.combine(value)
    case .object(let value):
      hasher.combine(6)
      hasher.combine(value)
    }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
  /// A string.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A whole number.
  public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
  /// A truth value.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  /// An array.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// An object, members in the order written; of equal names the last one's value counts.
  public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONObject(elements)) }
}

extension JSONValue: CustomStringConvertible {
  /// The value as compact JSON text.
  public var description: String { String(decoding: encoded(), as: UTF8.self) }
}
