import JSON

/// The entries of a map. What came from the wire and was not made a Swift value (the content of an `Any`, a message that is known by
/// its descriptor alone) has them as they were sent: an entry may lack its value, and two may have one key.
extension JSONMessageWriter {
  /// Writes one member for each key into an object that is open; of two entries the last one counts.
  mutating func entries(of field: FieldDescriptor, _ slots: MessageSlots) throws(EncodeError) {
    guard case .message(let entryDescriptor) = field.kind else { return }
    let (key, content) = (entryDescriptor().fields[0], entryDescriptor().fields[1])
    let entries = Array(slots.slotsList(at: field.countOffset))
    let names = entries.map { mapKey(key, $0) }
    var lastPlaces: [[UInt8]: Int] = [:]
    // By bytes: Swift takes two spellings of one character for the same text.
    if names.count > 1 { for (index, name) in names.enumerated() { lastPlaces[Array(name.utf8)] = index } }
    let hasRepeats = names.count > 1 && lastPlaces.count < names.count
    for (index, entry) in entries.enumerated() where !hasRepeats || lastPlaces[Array(names[index].utf8)] == index {
      out.name(names[index])
      try entryValue(content, entry)
    }
  }

  private mutating func entryValue(_ content: FieldDescriptor, _ entry: MessageSlots) throws(EncodeError) {
    guard case .message(let descriptor) = content.kind, entry.slots(at: content.offset) == nil else {
      return try value(content.kind, entry, at: content.offset)
    }
    // A message that is left out is an empty one, and slots of zeros are that.
    let size = descriptor().slotSize
    let empty = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    defer { empty.deallocate() }
    empty.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    try message(MessageSlots(empty), descriptor())
  }

  private func mapKey(_ key: FieldDescriptor, _ entry: MessageSlots) -> String {
    guard case .scalar(let scalar) = key.kind else { return "" }
    switch scalar {
    case .string: return entry.string(at: key.offset)
    case .bool: return entry.bool(at: key.offset) ? "true" : "false"
    case .int32, .sint32, .sfixed32: return String(entry.int32(at: key.offset))
    case .uint32, .fixed32: return String(entry.uint32(at: key.offset))
    case .uint64, .fixed64: return String(entry.uint64(at: key.offset))
    default: return String(entry.int64(at: key.offset))
    }
  }
}
