/// Repeated fields: `offset` is that of the count, the pointer to the elements follows 8 bytes later.
extension SlotWriter {
  /// Writes the count and the pointer of `count` elements of `stride` bytes, and returns where the elements go.
  @inlinable public func elements(_ count: Int, stride: Int, at offset: Int) -> UnsafeMutableRawPointer? {
    guard count > 0, let memory = allocate(count * stride) else { return nil }
    base.storeBytes(of: count, toByteOffset: offset, as: Int.self)
    base.storeBytes(of: memory, toByteOffset: offset + 8, as: UnsafeMutableRawPointer.self)
    arena.pointee.bound += count * 16
    return memory
  }

  @inlinable func setAll<Element: BitwiseCopyable>(_ values: [Element], at offset: Int) {
    guard let memory = elements(values.count, stride: MemoryLayout<Element>.stride, at: offset) else { return }
    values.withUnsafeBytes { memory.copyMemory(from: $0.baseAddress.unsafelyUnwrapped, byteCount: $0.count) }
  }

  /// Writes the elements.
  @inlinable public func set(_ values: [Int32], at offset: Int) { setAll(values, at: offset) }
  /// Writes the elements.
  @inlinable public func set(_ values: [Int64], at offset: Int) { setAll(values, at: offset) }
  /// Writes the elements.
  @inlinable public func set(_ values: [UInt32], at offset: Int) { setAll(values, at: offset) }
  /// Writes the elements.
  @inlinable public func set(_ values: [UInt64], at offset: Int) { setAll(values, at: offset) }
  /// Writes the elements.
  @inlinable public func set(_ values: [Float], at offset: Int) { setAll(values, at: offset) }
  /// Writes the elements.
  @inlinable public func set(_ values: [Double], at offset: Int) { setAll(values, at: offset) }
  /// Writes the elements.
  @inlinable public func set(_ values: [Bool], at offset: Int) {
    if !values.isEmpty { setAll(values.map { ($0 ? 1 : 0) as Int32 }, at: offset) }
  }
  /// Writes the elements.
  @inlinable public func set(_ values: [some ProtoEnum], at offset: Int) {
    if !values.isEmpty { setAll(values.map(\.rawValue), at: offset) }
  }

  /// Writes the elements.
  @inlinable public func set(_ values: [String], at offset: Int) {
    guard let memory = elements(values.count, stride: SlotLayout.span, at: offset) else { return }
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: values.count * SlotLayout.span)
    for (index, value) in values.enumerated() {
      SlotWriter(base: memory + index * SlotLayout.span, arena: arena).set(value, at: 0)
    }
  }

  /// Writes the elements.
  @inlinable public func set(_ values: [Bytes], at offset: Int) {
    guard let memory = elements(values.count, stride: SlotLayout.span, at: offset) else { return }
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: values.count * SlotLayout.span)
    for (index, value) in values.enumerated() {
      SlotWriter(base: memory + index * SlotLayout.span, arena: arena).set(value, at: 0)
    }
  }

  /// Writes the elements.
  @inlinable public func set<M: Message>(_ values: [M], at offset: Int) {
    guard !values.isEmpty else { return }
    each(values, of: M.descriptor, at: offset) { $0.fill($1) }
  }

  /// Writes a sub-message for each element of a collection: the entries of a map, for instance.
  ///
  /// - Parameters:
  ///   - values: The elements.
  ///   - descriptor: The descriptor of the sub-messages.
  ///   - offset: The offset of the count.
  ///   - fill: Fills the slots of one element.
  @inlinable public func each<Values: Collection>(
    _ values: Values, of descriptor: MessageDescriptor, at offset: Int, fill: (Values.Element, SlotWriter) -> Void
  ) {
    let count = values.count
    guard count > 0, let memory = elements(count, stride: 8, at: offset) else { return }
    var index = 0
    for value in values {
      guard let child = nested(descriptor) else {
        // Unreachable for the packer: the arena is marked as failed and its slots are dropped.
        base.storeBytes(of: 0, toByteOffset: offset, as: Int.self)
        return
      }
      memory.storeBytes(of: child.base, toByteOffset: index * 8, as: UnsafeMutableRawPointer.self)
      fill(value, child)
      arena.pointee.depth -= 1
      index += 1
    }
  }
}
