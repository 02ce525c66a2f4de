/// The decoded fields of one message as a flat C-layout struct, to read from.
///
/// A view: it is valid while the decoder that filled it is busy with the message. Offsets are literals in generated code;
/// nothing is checked here because the decoder has checked the wire bytes.
public struct MessageSlots {
  /// The first byte of the struct.
  public let base: UnsafeRawPointer

  /// A view of slots.
  @inlinable public init(_ base: UnsafeRawPointer) {
    self.base = base
  }

  /// Whether the flag at an offset is set.
  @inlinable public func has(at offset: Int) -> Bool { int32(at: offset) != 0 }
  /// The number of the field of a oneof that is set; 0 for none.
  @inlinable public func oneof(at offset: Int) -> Int32 { int32(at: offset) }
  /// The value at an offset.
  @inlinable public func int32(at offset: Int) -> Int32 { base.load(fromByteOffset: offset, as: Int32.self) }
  /// The value at an offset.
  @inlinable public func int64(at offset: Int) -> Int64 { base.load(fromByteOffset: offset, as: Int64.self) }
  /// The value at an offset.
  @inlinable public func uint32(at offset: Int) -> UInt32 { base.load(fromByteOffset: offset, as: UInt32.self) }
  /// The value at an offset.
  @inlinable public func uint64(at offset: Int) -> UInt64 { base.load(fromByteOffset: offset, as: UInt64.self) }
  /// The value at an offset.
  @inlinable public func float(at offset: Int) -> Float { base.load(fromByteOffset: offset, as: Float.self) }
  /// The value at an offset.
  @inlinable public func double(at offset: Int) -> Double { base.load(fromByteOffset: offset, as: Double.self) }
  /// The value at an offset.
  @inlinable public func bool(at offset: Int) -> Bool { int32(at: offset) != 0 }

  /// The value at an offset.
  @inlinable public func enumeration<E: ProtoEnum>(at offset: Int) -> E { E(rawValue: int32(at: offset)) }

  /// The memory of the text or bytes at an offset.
  @inlinable public func span(at offset: Int) -> UnsafeRawBufferPointer {
    let count = base.load(fromByteOffset: offset, as: Int.self)
    guard count > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(
      start: base.load(fromByteOffset: offset + 8, as: UnsafeRawPointer?.self).unsafelyUnwrapped, count: count)
  }

  /// The text at an offset.
  @inlinable public func string(at offset: Int) -> String {
    let bytes = span(at: offset)
    guard bytes.count > 0 else { return "" }
    // The pre-scan has checked the bytes; the span type wants to see it again and, in passing, notes pure ASCII.
    guard let text = try? UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span) else { return "" }
    return String(copying: text)
  }

  /// The bytes at an offset; large ones share the decoder's storage.
  @inlinable public func bytes(at offset: Int) -> Bytes {
    let bytes = span(at: offset)
    if bytes.count >= SlotArena.sharedStorageThreshold {
      let storage = BytesStorage.owning(content: bytes.baseAddress.unsafelyUnwrapped)
      return Bytes(storage: storage, start: 0, count: bytes.count)
    }
    return Bytes(bytes)
  }

  /// The sub-message whose pointer lies at an offset, or nil.
  @inlinable public func slots(at offset: Int) -> MessageSlots? {
    base.load(fromByteOffset: offset, as: UnsafeRawPointer?.self).map(MessageSlots.init)
  }

  /// The sub-message whose pointer lies at an offset, or nil.
  @inlinable public func message<M: Message>(at offset: Int) -> M? {
    guard let slots = slots(at: offset) else { return nil }
    return M(slots: slots)
  }

  /// The sub-message whose pointer lies at an offset, boxed, or nil.
  @inlinable public func indirect<M: Message>(at offset: Int) -> Indirect<M>? {
    guard let slots = slots(at: offset) else { return nil }
    return Indirect(M(slots: slots))
  }

  /// The fields that the descriptor does not know.
  @inlinable public var unknownFields: UnknownFields {
    if uint32(at: SlotLayout.unknownCount) == 0 { return UnknownFields() }
    return readUnknownFields()
  }

  @usableFromInline func readUnknownFields() -> UnknownFields {
    let count = Int(uint32(at: SlotLayout.unknownCount))
    guard let fields = base.load(fromByteOffset: SlotLayout.unknownPointer, as: UnsafeRawPointer?.self) else {
      return UnknownFields()
    }
    var bytes: [UInt8] = []
    for index in 0..<count {
      let field = fields + index * SlotLayout.unknownStride
      let tag = field.load(as: UInt32.self)
      let wireType = field.load(fromByteOffset: 4, as: UInt32.self)
      let length = field.load(fromByteOffset: 8, as: Int.self)
      var data = UnsafeRawBufferPointer(
        start: field.load(fromByteOffset: 16, as: UnsafeRawPointer?.self), count: length)
      if tag == SlotLayout.wrapper {
        // Its content is a whole field.
        let prefix = data.prefix { $0 & 0x80 != 0 }.count + 1
        data = UnsafeRawBufferPointer(rebasing: data.dropFirst(prefix))
      } else {
        var key = UInt64(tag) << 3 | UInt64(wireType)
        while key >= 0x80 {
          bytes.append(UInt8(truncatingIfNeeded: key) | 0x80)
          key >>= 7
        }
        bytes.append(UInt8(key))
      }
      bytes.append(contentsOf: data)
    }
    return UnknownFields(bytes: bytes)
  }
}
