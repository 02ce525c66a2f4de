import JSON

/// Walks descriptor and slots and writes proto3 JSON.
struct JSONMessageWriter {
  let options: JSONEncodingOptions
  var out: JSONWriter
  /// Messages around the one being written. Slots are bounded when they are filled; what an `Any` holds is not among them.
  private var depth = 0

  init(options: JSONEncodingOptions) {
    self.options = options
    out = JSONWriter(isPretty: options.isPretty)
  }

  /// Writes a message in its own form.
  mutating func message(_ slots: MessageSlots, _ descriptor: MessageDescriptor) throws(EncodeError) {
    guard depth <= DecodeLimits.maximumDepth else {
      throw EncodeError(.tooDeep, "messages nested deeper than \(DecodeLimits.maximumDepth)")
    }
    depth += 1
    defer { depth -= 1 }
    if descriptor.wellKnown != nil { return try wellKnown(slots, descriptor) }
    out.beginObject()
    try members(slots, descriptor)
    out.endObject()
  }

  /// Writes the fields of a message into an object that is open.
  mutating func members(_ slots: MessageSlots, _ descriptor: MessageDescriptor) throws(EncodeError) {
    for field in descriptor.fields where isWritten(field, slots) {
      out.name(options.usesProtoNames ? field.name : field.jsonName)
      switch field.shape {
      case .implicit, .optional, .oneof: try value(field.kind, slots, at: field.offset)
      case .repeated: try list(field, slots)
      case .map:
        out.beginObject()
        try entries(of: field, slots)
        out.endObject()
      }
    }
  }

  /// Writes one value that lies at an offset of the slots.
  mutating func value(_ kind: FieldDescriptor.Kind, _ slots: MessageSlots, at offset: Int) throws(EncodeError) {
    switch kind {
    case .scalar(let scalar): self.scalar(scalar, slots, at: offset)
    case .enumeration(let descriptor): enumeration(slots.int32(at: offset), descriptor())
    case .message(let descriptor):
      guard let child = slots.slots(at: offset) else { return out.null() }
      try message(child, descriptor())
    }
  }

  private mutating func list(_ field: FieldDescriptor, _ slots: MessageSlots) throws(EncodeError) {
    out.beginArray()
    let count = slots.count(at: field.countOffset)
    if count > 0 {
      let elements = slots.elements(at: field.countOffset)
      for index in 0..<count { try value(field.kind, MessageSlots(elements + index * field.kind.slotValue.bytes), at: 0) }
    }
    out.endArray()
  }

  private mutating func scalar(_ scalar: FieldDescriptor.Scalar, _ slots: MessageSlots, at offset: Int) {
    switch scalar {
    case .int32, .sint32, .sfixed32: out.int(Int64(slots.int32(at: offset)))
    case .int64, .sint64, .sfixed64: out.int(slots.int64(at: offset), quoted: true)
    case .uint32, .fixed32: out.uint(UInt64(slots.uint32(at: offset)))
    case .uint64, .fixed64: out.uint(slots.uint64(at: offset), quoted: true)
    case .float: out.float(slots.float(at: offset))
    case .double: out.double(slots.double(at: offset))
    case .bool: out.bool(slots.bool(at: offset))
    case .string: out.string(utf8: slots.span(at: offset).bindMemory(to: UInt8.self))
    case .bytes: out.string(String(decoding: Base64.encode(slots.span(at: offset)), as: UTF8.self))
    }
  }

  private mutating func enumeration(_ number: Int32, _ descriptor: EnumDescriptor) {
    if descriptor.isNullValue { return out.null() }
    if let name = descriptor.name(of: number) { out.string(name) } else { out.int(Int64(number)) }
  }

  private func isWritten(_ field: FieldDescriptor, _ slots: MessageSlots) -> Bool {
    switch field.shape {
    case .implicit(let has):
      if options.writesDefaults { return true }
      if has != 0 { return slots.has(at: has) }
      return isNonZero(field.kind, slots, at: field.offset)
    case .optional(let has): return has != 0 ? slots.has(at: has) : slots.slots(at: field.offset) != nil
    case .oneof(let caseAt): return slots.oneof(at: caseAt) == field.number
    case .repeated, .map: return options.writesDefaults || slots.count(at: field.countOffset) > 0
    }
  }

  private func isNonZero(_ kind: FieldDescriptor.Kind, _ slots: MessageSlots, at offset: Int) -> Bool {
    switch kind {
    case .enumeration: return slots.int32(at: offset) != 0
    case .message: return slots.slots(at: offset) != nil
    case .scalar(let scalar):
      switch scalar {
      case .string, .bytes: return slots.count(at: offset) > 0
      case .int64, .sint64, .sfixed64, .uint64, .fixed64, .double: return slots.uint64(at: offset) != 0
      default: return slots.uint32(at: offset) != 0
      }
    }
  }
}

extension EnumDescriptor {
  /// Whether this is `google.protobuf.NullValue`, whose JSON form is `null`.
  var isNullValue: Bool { name == "google.protobuf.NullValue" }
}
