import JSON

/// The messages of `google.protobuf` with a JSON form of their own.
extension JSONMessageReader {
  mutating func wellKnown(
    _ json: JSONValue, into slots: SlotWriter, _ descriptor: MessageDescriptor
  ) throws(DecodeError) {
    switch descriptor.wellKnown {
    case .timestamp:
      guard let (seconds, nanos) = json.string.flatMap(InternetTime.parse) else {
        throw DecodeError(.invalidValue, "a timestamp is not RFC 3339 of the years 1 to 9999")
      }
      slots.set(seconds, at: descriptor.fields[0].offset)
      slots.set(nanos, at: descriptor.fields[1].offset)
    case .duration:
      guard let (seconds, nanos) = json.string.flatMap(JSONDuration.parse) else {
        throw DecodeError(.invalidValue, "a duration is not a number of seconds with the suffix s")
      }
      slots.set(seconds, at: descriptor.fields[0].offset)
      slots.set(nanos, at: descriptor.fields[1].offset)
    case .fieldMask:
      guard let text = json.string else { throw DecodeError(.invalidValue, "a field mask is not a string") }
      var paths: [String] = []
      for path in text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let proto = JSONFieldPath.proto(path) else { throw DecodeError(.invalidValue, "a field mask is not lowerCamel") }
        paths.append(proto)
      }
      slots.set(paths, at: descriptor.fields[0].countOffset)
    case .structure: try map(json, descriptor.fields[0], into: slots)
    case .listValue: try list(json, descriptor.fields[0], into: slots)
    case .value: try anyValue(json, into: slots, descriptor)
    case .wrapper: _ = try wrapped(json, into: slots, descriptor)
    case .any: try any(json, into: slots, descriptor)
    case nil: break
    }
    if slots.arena.pointee.failure != 0 { throw failure(slots) }
  }

  private mutating func wrapped(
    _ json: JSONValue, into slots: SlotWriter, _ descriptor: MessageDescriptor
  ) throws(DecodeError) {
    let field = descriptor.fields[0]
    _ = try value(json, field, field.kind, into: slots, at: field.offset)
    if case .implicit(let has) = field.shape, has != 0 { slots.mark(at: has) }
  }

  /// `null_value` = 1, `number_value` = 2, `string_value` = 3, `bool_value` = 4, `struct_value` = 5, `list_value` = 6.
  private mutating func anyValue(
    _ json: JSONValue, into slots: SlotWriter, _ descriptor: MessageDescriptor
  ) throws(DecodeError) {
    let number: Int32
    switch json {
    case .null: number = 1
    case .number: number = 2
    case .string: number = 3
    case .bool: number = 4
    case .object: number = 5
    case .array: number = 6
    }
    guard let field = descriptor.field(number: number), case .oneof(let caseAt) = field.shape else { return }
    slots.choose(number, at: caseAt)
    _ = try value(json, field, field.kind, into: slots, at: field.offset)
  }

  private mutating func any(
    _ json: JSONValue, into slots: SlotWriter, _ descriptor: MessageDescriptor
  ) throws(DecodeError) {
    guard let object = json.object else { throw DecodeError(.invalidValue, "an Any is not a JSON object") }
    guard !object.isEmpty else { return }
    guard let url = object["@type"]?.string else { throw DecodeError(.invalidValue, "an Any has no @type") }
    guard let registry = options.registry, let inner = registry.descriptor(forURL: url) else {
      throw DecodeError(.invalidValue, "an Any holds a type that is not registered")
    }
    registry.wire.prepare(inner)
    guard let content = slots.nested(inner) else { throw failure(slots) }
    if inner.wellKnown != nil {
      guard let value = object["value"] else { throw DecodeError(.invalidValue, "an Any has no value") }
      try message(value, into: content, inner)
    } else if inner.name == "google.protobuf.Empty", let value = object["value"] {
      // Some write an Empty like the messages with a form of their own, others like any message without fields.
      try message(value, into: content, inner)
    } else {
      try members(of: object, into: content, inner, skippingType: true)
    }
    slots.arena.pointee.depth -= 1
    slots.set(url, at: descriptor.fields[0].offset)
    registry.wire.pack(content).withUnsafeBytes { slots.copy($0, at: descriptor.fields[1].offset) }
  }
}
