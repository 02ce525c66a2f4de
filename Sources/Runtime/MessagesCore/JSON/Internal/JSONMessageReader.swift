import JSON

/// Walks a JSON value by a descriptor and writes the slots of a message.
struct JSONMessageReader {
  let options: JSONDecodingOptions
  /// Names to fields, for messages with many of them.
  private var indices: [ObjectIdentifier: [String: Int]] = [:]

  init(options: JSONDecodingOptions) {
    self.options = options
  }

  /// Reads a message in its own form into empty slots.
  mutating func message(
    _ json: JSONValue, into slots: SlotWriter, _ descriptor: MessageDescriptor
  ) throws(DecodeError) {
    if descriptor.wellKnown != nil { return try wellKnown(json, into: slots, descriptor) }
    guard let object = json.object else { throw DecodeError(.invalidValue, "\(descriptor.name) is not a JSON object") }
    try members(of: object, into: slots, descriptor)
  }

  /// Reads the members of an object as fields; `@type` may be left out of account.
  mutating func members(
    of object: JSONObject, into slots: SlotWriter, _ descriptor: MessageDescriptor, skippingType: Bool = false
  ) throws(DecodeError) {
    var seen: Set<Int32> = []
    for member in object.members {
      if skippingType && member.name == "@type" { continue }
      guard let field = field(named: member.name, of: descriptor) else {
        if options.ignoresUnknownFields { continue }
        throw DecodeError(.unknownField, "\(descriptor.name) has no such field")
      }
      guard seen.insert(field.number).inserted else {
        throw DecodeError(.malformed, "\(descriptor.name).\(field.name) comes twice")
      }
      if member.value.isNull && !acceptsNull(field.kind, isSingular: field.isSingular) { continue }
      switch field.shape {
      case .repeated: try list(member.value, field, into: slots)
      case .map: try map(member.value, field, into: slots)
      case .implicit, .optional:
        if try value(member.value, field, field.kind, into: slots, at: field.offset) { mark(field, slots) }
      case .oneof(let caseAt):
        guard slots.base.load(fromByteOffset: caseAt, as: Int32.self) == 0 else {
          throw DecodeError(.malformed, "\(descriptor.name).\(field.name): another field of its oneof is set already")
        }
        if try value(member.value, field, field.kind, into: slots, at: field.offset) { slots.choose(field.number, at: caseAt) }
      }
    }
  }

  /// Reads one value. False if it was to be ignored: an enum name without a number.
  mutating func value(
    _ json: JSONValue, _ field: FieldDescriptor, _ kind: FieldDescriptor.Kind, into slots: SlotWriter, at offset: Int
  ) throws(DecodeError) -> Bool {
    switch kind {
    case .scalar(let scalar):
      try JSONScalar.read(json, scalar, field, into: slots, at: offset)
      if slots.arena.pointee.failure != 0 { throw .budget }
      return true
    case .enumeration(let descriptor):
      let descriptor = descriptor()
      if descriptor.isNullValue, json.isNull { return true }
      if let name = json.string {
        guard let number = descriptor.number(of: name) else {
          if options.ignoresUnknownFields { return false }
          throw DecodeError(.unknownField, "\(field.name): \(descriptor.name) has no such value")
        }
        slots.set(number, at: offset)
      } else {
        guard let number = json.number?.int64.flatMap(Int32.init(exactly:)) else { throw .type(field, "an enum value") }
        slots.set(number, at: offset)
      }
      return true
    case .message(let descriptor):
      let descriptor = descriptor()
      guard let child = slots.nested(descriptor) else { throw failure(slots) }
      try message(json, into: child, descriptor)
      slots.arena.pointee.depth -= 1
      slots.base.storeBytes(of: child.base, toByteOffset: offset, as: UnsafeMutableRawPointer.self)
      return true
    }
  }

  mutating func list(_ json: JSONValue, _ field: FieldDescriptor, into slots: SlotWriter) throws(DecodeError) {
    guard let array = json.array else { throw .type(field, "an array") }
    guard !array.isEmpty else { return }
    let stride = field.kind.slotValue.bytes
    guard let memory = slots.elements(array.count, stride: stride, at: field.countOffset) else { throw .budget }
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: array.count * stride)
    var count = 0
    for element in array {
      if element.isNull && !acceptsNull(field.kind, isSingular: false) { throw .type(field, "without null elements") }
      let place = SlotWriter(base: memory + count * stride, arena: slots.arena)
      if try value(element, field, field.kind, into: place, at: 0) { count += 1 }
    }
    slots.set(Int64(count), at: field.countOffset)
  }

  mutating func map(_ json: JSONValue, _ field: FieldDescriptor, into slots: SlotWriter) throws(DecodeError) {
    guard let object = json.object, case .message(let entryDescriptor) = field.kind else { throw .type(field, "an object") }
    guard !object.isEmpty else { return }
    let descriptor = entryDescriptor()
    guard let memory = slots.elements(object.count, stride: 8, at: field.countOffset) else { throw .budget }
    var count = 0
    for member in object.members {
      let (key, content) = (descriptor.fields[0], descriptor.fields[1])
      if member.value.isNull && !acceptsNull(content.kind, isSingular: false) { throw .type(field, "without null values") }
      guard let entry = slots.nested(descriptor), case .scalar(let scalar) = key.kind else { throw failure(slots) }
      try JSONScalar.readKey(member.name, scalar, field, into: entry, at: key.offset)
      mark(key, entry)
      if try value(member.value, field, content.kind, into: entry, at: content.offset) {
        mark(content, entry)
        memory.storeBytes(of: entry.base, toByteOffset: count * 8, as: UnsafeMutableRawPointer.self)
        count += 1
      }
      slots.arena.pointee.depth -= 1
    }
    slots.set(Int64(count), at: field.countOffset)
  }

  /// What the arena ran out of.
  func failure(_ slots: SlotWriter) -> DecodeError {
    slots.arena.pointee.failure == 1
      ? DecodeError(.tooDeep, "messages nested deeper than \(DecodeLimits.maximumDepth)") : .budget
  }

  private func mark(_ field: FieldDescriptor, _ slots: SlotWriter) {
    switch field.shape {
    case .implicit(let has), .optional(let has): if has != 0 { slots.mark(at: has) }
    default: break
    }
  }

  /// `null` is a value of `google.protobuf.Value` and `NullValue`; elsewhere it is absence.
  private func acceptsNull(_ kind: FieldDescriptor.Kind, isSingular: Bool) -> Bool {
    switch kind {
    case .message(let descriptor): (isSingular || !descriptor().isMapEntry) && descriptor().wellKnown == .value
    case .enumeration(let descriptor): descriptor().isNullValue
    case .scalar: false
    }
  }

  private mutating func field(named name: String, of descriptor: MessageDescriptor) -> FieldDescriptor? {
    guard descriptor.fields.count > 8 else {
      return descriptor.fields.first { $0.jsonName.utf8.elementsEqual(name.utf8) || $0.name.utf8.elementsEqual(name.utf8) }
    }
    let key = ObjectIdentifier(descriptor)
    if indices[key] == nil {
      var index: [String: Int] = [:]
      for (position, field) in descriptor.fields.enumerated() { index[field.name] = position }
      for (position, field) in descriptor.fields.enumerated() { index[field.jsonName] = position }
      indices[key] = index
    }
    guard let position = indices[key]?[name] else { return nil }
    let field = descriptor.fields[position]
    // Swift takes canonically equivalent strings for the same; names must match byte for byte.
    return field.jsonName.utf8.elementsEqual(name.utf8) || field.name.utf8.elementsEqual(name.utf8) ? field : nil
  }
}

extension FieldDescriptor {
  var isSingular: Bool {
    switch shape {
    case .implicit, .optional, .oneof: true
    case .repeated, .map: false
    }
  }
}

extension DecodeError {
  static func type(_ field: FieldDescriptor, _ expected: String) -> DecodeError {
    DecodeError(.invalidValue, "\(field.name) is not \(expected)")
  }
}
