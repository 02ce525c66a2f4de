/// The fields of one message as a flat C-layout struct, to write to.
///
/// A view of an encoder's arena, valid during the call that got it. Everything starts as zero. A value that does not fit the
/// limits marks the arena as failed, and the encoder reports it once the message has been walked.
public struct SlotWriter {
  /// The first byte of the struct.
  public let base: UnsafeMutableRawPointer
  /// The arena that the slots lie in.
  public let arena: UnsafeMutablePointer<SlotArenaState>

  /// A view of slots that already exist.
  @inlinable public init(base: UnsafeMutableRawPointer, arena: UnsafeMutablePointer<SlotArenaState>) {
    self.base = base
    self.arena = arena
  }

  /// Empty slots of a message, or nil if the arena's budget is spent.
  @inlinable @inline(__always)
  public init?(_ descriptor: MessageDescriptor, in arena: UnsafeMutablePointer<SlotArenaState>) {
    let size = descriptor.slotSize
    guard let base = arena.pointee.allocate(size) else {
      arena.pointee.failure = 2
      return nil
    }
    base.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    base.storeBytes(of: descriptor.wireAddress, as: UInt.self)
    // A slot of 4 bytes holds a field of at most 15 bytes with its tag; longer content adds its own length.
    arena.pointee.bound += 4 * size + 16
    self.init(base: base, arena: arena)
  }

  /// Sets the flag at an offset.
  @inlinable public func mark(at offset: Int) { set(1 as Int32, at: offset) }
  /// Says which field of a oneof is set.
  @inlinable public func choose(_ number: Int32, at offset: Int) { set(number, at: offset) }

  /// Writes a value.
  @inlinable public func set(_ value: Int32, at offset: Int) { base.storeBytes(of: value, toByteOffset: offset, as: Int32.self) }
  /// Writes a value.
  @inlinable public func set(_ value: Int64, at offset: Int) { base.storeBytes(of: value, toByteOffset: offset, as: Int64.self) }
  /// Writes a value.
  @inlinable public func set(_ value: UInt32, at offset: Int) {
    base.storeBytes(of: value, toByteOffset: offset, as: UInt32.self)
  }
  /// Writes a value.
  @inlinable public func set(_ value: UInt64, at offset: Int) {
    base.storeBytes(of: value, toByteOffset: offset, as: UInt64.self)
  }
  /// Writes a value.
  @inlinable public func set(_ value: Float, at offset: Int) { base.storeBytes(of: value, toByteOffset: offset, as: Float.self) }
  /// Writes a value.
  @inlinable public func set(_ value: Double, at offset: Int) {
    base.storeBytes(of: value, toByteOffset: offset, as: Double.self)
  }
  /// Writes a value.
  @inlinable public func set(_ value: Bool, at offset: Int) { set((value ? 1 : 0) as Int32, at: offset) }
  /// Writes a value.
  @inlinable public func set(_ value: some ProtoEnum, at offset: Int) { set(value.rawValue, at: offset) }

  /// Writes a value with implicit presence: -0.0 is not the default, so it is written.
  @inlinable public func set(_ value: Float, at offset: Int, has: Int) {
    guard value.bitPattern != 0 else { return }
    set(value, at: offset)
    mark(at: has)
  }

  /// Writes a value with implicit presence: -0.0 is not the default, so it is written.
  @inlinable public func set(_ value: Double, at offset: Int, has: Int) {
    guard value.bitPattern != 0 else { return }
    set(value, at: offset)
    mark(at: has)
  }

  /// Writes text.
  @inlinable public func set(_ value: String, at offset: Int) {
    // Without a variable of its own, which would count a reference.
    guard value.utf8.withContiguousStorageIfAvailable({ copy(UnsafeRawBufferPointer($0), at: offset) }) == nil else { return }
    var value = value
    value.withUTF8 { copy(UnsafeRawBufferPointer($0), at: offset) }
  }

  /// Writes bytes, without a copy: the message being written keeps them alive.
  @inlinable public func set(_ value: Bytes, at offset: Int) {
    value.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      base.storeBytes(of: bytes.count, toByteOffset: offset, as: Int.self)
      base.storeBytes(of: start, toByteOffset: offset + 8, as: UnsafeRawPointer.self)
      arena.pointee.bound += bytes.count
    }
  }

  /// Writes text or bytes as a copy.
  @inlinable public func copy(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    guard bytes.count > 0 else { return }
    guard let memory = allocate(bytes.count) else { return }
    memory.copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: bytes.count)
    base.storeBytes(of: bytes.count, toByteOffset: offset, as: Int.self)
    base.storeBytes(of: memory, toByteOffset: offset + 8, as: UnsafeMutableRawPointer.self)
    arena.pointee.bound += bytes.count
  }

  /// Writes a sub-message.
  @inlinable public func set<M: Message>(_ value: M, at offset: Int) {
    guard let child = nested(M.descriptor) else { return }
    base.storeBytes(of: child.base, toByteOffset: offset, as: UnsafeMutableRawPointer.self)
    value.fill(child)
    arena.pointee.depth -= 1
  }

  /// Writes the fields that the descriptor does not know.
  @inlinable public func set(_ fields: UnknownFields) {
    if !fields.isEmpty { write(fields) }
  }

  /// Slots for a message inside this one; the caller lowers `depth` once it has filled them.
  @inlinable func nested(_ descriptor: MessageDescriptor) -> SlotWriter? {
    guard arena.pointee.depth < DecodeLimits.maximumDepth else {
      arena.pointee.failure = 1
      return nil
    }
    guard let child = SlotWriter(descriptor, in: arena) else { return nil }
    arena.pointee.depth += 1
    return child
  }

  @inlinable func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
    let memory = arena.pointee.allocate(size)
    if memory == nil { arena.pointee.failure = 2 }
    return memory
  }

  @usableFromInline func write(_ fields: UnknownFields) {
    // One entry holds them all: its tag and type are those of the first field, its content is everything after that tag.
    var key: UInt64 = 0
    var used = 0
    for byte in fields.bytes.prefix(5) {
      key |= UInt64(byte & 0x7f) << UInt64(7 * used)
      used += 1
      if byte & 0x80 == 0 { break }
    }
    let rest = fields.bytes.count - used
    guard let entry = allocate(SlotLayout.unknownStride), let content = allocate(rest) else { return }
    fields.bytes.withUnsafeBytes { bytes in
      guard rest > 0, let start = bytes.baseAddress else { return }
      content.copyMemory(from: start + used, byteCount: rest)
    }
    entry.storeBytes(of: UInt32(truncatingIfNeeded: key >> 3), as: UInt32.self)
    entry.storeBytes(of: UInt32(key & 7), toByteOffset: 4, as: UInt32.self)
    entry.storeBytes(of: rest, toByteOffset: 8, as: Int.self)
    entry.storeBytes(of: content, toByteOffset: 16, as: UnsafeMutableRawPointer.self)
    base.storeBytes(of: 1, toByteOffset: SlotLayout.unknownCount, as: UInt32.self)
    base.storeBytes(of: entry, toByteOffset: SlotLayout.unknownPointer, as: UnsafeMutableRawPointer.self)
    arena.pointee.bound += fields.bytes.count
  }
}
