import JSON

/// The messages of `google.protobuf` with a JSON form of their own.
extension JSONMessageWriter {
  mutating func wellKnown(_ slots: MessageSlots, _ descriptor: MessageDescriptor) throws(EncodeError) {
    switch descriptor.wellKnown {
    case .timestamp:
      let (seconds, nanos) = secondsAndNanos(slots, descriptor)
      guard let text = JSONTimestamp.text(seconds: seconds, nanos: nanos) else {
        throw EncodeError(.invalidValue, "timestamp outside the years 1 to 9999")
      }
      out.string(text)
    case .duration:
      let (seconds, nanos) = secondsAndNanos(slots, descriptor)
      guard let text = JSONDuration.text(seconds: seconds, nanos: nanos) else {
        throw EncodeError(.invalidValue, "duration beyond 10,000 years or with two signs")
      }
      out.string(text)
    case .fieldMask: try fieldMask(slots, descriptor)
    case .structure: try structure(slots, descriptor)
    case .value: try anyValue(slots, descriptor)
    case .listValue: try listValue(slots, descriptor)
    case .wrapper: try value(descriptor.fields[0].kind, slots, at: descriptor.fields[0].offset)
    case .any: try any(slots, descriptor)
    case nil: break
    }
  }

  private func secondsAndNanos(_ slots: MessageSlots, _ descriptor: MessageDescriptor) -> (Int64, Int32) {
    (slots.int64(at: descriptor.fields[0].offset), slots.int32(at: descriptor.fields[1].offset))
  }

  private mutating func fieldMask(_ slots: MessageSlots, _ descriptor: MessageDescriptor) throws(EncodeError) {
    var paths: [String] = []
    for path in slots.strings(at: descriptor.fields[0].countOffset) {
      guard let json = JSONFieldPath.json(path) else { throw EncodeError(.invalidValue, "field mask path without a JSON form") }
      paths.append(json)
    }
    out.string(paths.joined(separator: ","))
  }

  private mutating func structure(_ slots: MessageSlots, _ descriptor: MessageDescriptor) throws(EncodeError) {
    out.beginObject()
    try entries(of: descriptor.fields[0], slots)
    out.endObject()
  }

  private mutating func listValue(_ slots: MessageSlots, _ descriptor: MessageDescriptor) throws(EncodeError) {
    out.beginArray()
    let field = descriptor.fields[0]
    if case .message(let child) = field.kind {
      for element in slots.slotsList(at: field.countOffset) { try message(element, child()) }
    }
    out.endArray()
  }

  private mutating func anyValue(_ slots: MessageSlots, _ descriptor: MessageDescriptor) throws(EncodeError) {
    for field in descriptor.fields {
      guard case .oneof(let caseAt) = field.shape, slots.oneof(at: caseAt) == field.number else { continue }
      if case .scalar(.double) = field.kind, !slots.double(at: field.offset).isFinite {
        throw EncodeError(.invalidValue, "a google.protobuf.Value cannot be infinite or NaN in JSON")
      }
      return try value(field.kind, slots, at: field.offset)
    }
    throw EncodeError(.invalidValue, "a google.protobuf.Value without a kind")
  }

  private mutating func any(_ slots: MessageSlots, _ descriptor: MessageDescriptor) throws(EncodeError) {
    let url = slots.string(at: descriptor.fields[0].offset)
    let content = slots.span(at: descriptor.fields[1].offset)
    if url.isEmpty && content.isEmpty {
      out.beginObject()
      return out.endObject()
    }
    guard let registry = options.registry, let inner = registry.descriptor(forURL: url) else {
      throw EncodeError(.invalidValue, "a google.protobuf.Any of a type that is not registered")
    }
    out.beginObject()
    out.name("@type")
    out.string(url)
    try registry.wire.unpack(content, as: inner) { content throws(EncodeError) in
      if inner.wellKnown != nil {
        out.name("value")
        try message(content, inner)
      } else {
        try members(content, inner)
      }
    }
    out.endObject()
  }
}
