import JSON

/// Reads scalars of proto3 JSON: numbers may be strings, 64-bit integers usually are, bytes are base64.
enum JSONScalar {
  static func read(
    _ json: JSONValue, _ scalar: FieldDescriptor.Scalar, _ field: FieldDescriptor, into slots: SlotWriter, at offset: Int
  ) throws(DecodeError) {
    switch scalar {
    case .bool:
      guard let value = json.bool else { throw .type(field, "a bool") }
      slots.set(value, at: offset)
    case .string:
      guard let value = json.string else { throw .type(field, "a string") }
      slots.set(value, at: offset)
    case .bytes:
      guard let value = json.string.flatMap({ Base64.decode($0.utf8) }) else { throw .type(field, "base64") }
      value.withUnsafeBytes { slots.copy($0, at: offset) }
    case .double:
      slots.set(try floatingPoint(json, field) { Double($0) }, at: offset)
    case .float:
      slots.set(try floatingPoint(json, field) { Float($0) }, at: offset)
    default:
      guard let number = number(json) else { throw .type(field, "a number") }
      try integer(number, scalar, field, into: slots, at: offset)
    }
  }

  /// Reads the key of a map, which JSON always writes as a name.
  static func readKey(
    _ name: String, _ scalar: FieldDescriptor.Scalar, _ field: FieldDescriptor, into slots: SlotWriter, at offset: Int
  ) throws(DecodeError) {
    switch scalar {
    case .string:
      slots.set(name, at: offset)
      if slots.arena.pointee.failure != 0 { throw .budget }
    case .bool:
      guard name == "true" || name == "false" else { throw .type(field, "a map with bool keys") }
      slots.set(name == "true", at: offset)
    default:
      guard let number = number(.string(name)) else { throw .type(field, "a map with number keys") }
      try integer(number, scalar, field, into: slots, at: offset)
    }
  }

  private static func integer(
    _ number: JSONNumber, _ scalar: FieldDescriptor.Scalar, _ field: FieldDescriptor, into slots: SlotWriter, at offset: Int
  ) throws(DecodeError) {
    switch scalar {
    case .int32, .sint32, .sfixed32:
      guard let value = number.int64.flatMap(Int32.init(exactly:)) else { throw .type(field, "a 32-bit integer") }
      slots.set(value, at: offset)
    case .uint32, .fixed32:
      guard let value = number.uint64.flatMap(UInt32.init(exactly:)) else { throw .type(field, "an unsigned 32-bit integer") }
      slots.set(value, at: offset)
    case .uint64, .fixed64:
      guard let value = number.uint64 else { throw .type(field, "an unsigned 64-bit integer") }
      slots.set(value, at: offset)
    default:
      guard let value = number.int64 else { throw .type(field, "a 64-bit integer") }
      slots.set(value, at: offset)
    }
  }

  private static func floatingPoint<Value: BinaryFloatingPoint>(
    _ json: JSONValue, _ field: FieldDescriptor, _ parse: (String) -> Value?
  ) throws(DecodeError) -> Value {
    switch json.string {
    case "NaN": return .nan
    case "Infinity": return .infinity
    case "-Infinity": return -.infinity
    default: break
    }
    guard let number = number(json), let value = parse(number.text), value.isFinite else {
      throw .type(field, "a number in range")
    }
    return value
  }

  /// The number that a value is or, as a string, spells exactly as JSON would.
  private static func number(_ json: JSONValue) -> JSONNumber? {
    if let number = json.number { return number }
    guard let text = json.string, text.utf8.allSatisfy({ $0 > 0x20 }), let value = try? JSONParser.parse(text) else { return nil }
    return value.number
  }
}
