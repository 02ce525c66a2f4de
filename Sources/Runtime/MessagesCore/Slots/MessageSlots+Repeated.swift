/// Repeated fields: `offset` is that of the count, the pointer to the elements follows 8 bytes later.
extension MessageSlots {
  /// The number of elements.
  @inlinable public func count(at offset: Int) -> Int { base.load(fromByteOffset: offset, as: Int.self) }

  /// The first element.
  @inlinable public func elements(at offset: Int) -> UnsafeRawPointer {
    base.load(fromByteOffset: offset + 8, as: UnsafeRawPointer?.self).unsafelyUnwrapped
  }

  @inlinable func array<Element: BitwiseCopyable>(of: Element.Type, at offset: Int) -> [Element] {
    let count = count(at: offset)
    guard count > 0 else { return [] }
    let source = UnsafeRawBufferPointer(start: elements(at: offset), count: count * MemoryLayout<Element>.stride)
    return [Element](unsafeUninitializedCapacity: count) { target, filled in
      UnsafeMutableRawBufferPointer(target).copyMemory(from: source)
      filled = count
    }
  }

  /// The elements.
  @inlinable public func int32s(at offset: Int) -> [Int32] { array(of: Int32.self, at: offset) }
  /// The elements.
  @inlinable public func int64s(at offset: Int) -> [Int64] { array(of: Int64.self, at: offset) }
  /// The elements.
  @inlinable public func uint32s(at offset: Int) -> [UInt32] { array(of: UInt32.self, at: offset) }
  /// The elements.
  @inlinable public func uint64s(at offset: Int) -> [UInt64] { array(of: UInt64.self, at: offset) }
  /// The elements.
  @inlinable public func floats(at offset: Int) -> [Float] { array(of: Float.self, at: offset) }
  /// The elements.
  @inlinable public func doubles(at offset: Int) -> [Double] { array(of: Double.self, at: offset) }
  /// The elements.
  @inlinable public func bools(at offset: Int) -> [Bool] { int32s(at: offset).map { $0 != 0 } }
  /// The elements.
  @inlinable public func enumerations<E: ProtoEnum>(at offset: Int) -> [E] {
    int32s(at: offset).map { E(rawValue: $0) }
  }

  /// The elements.
  @inlinable public func strings(at offset: Int) -> [String] {
    spans(at: offset).map { $0.string(at: 0) }
  }

  /// The elements.
  @inlinable public func bytesList(at offset: Int) -> [Bytes] {
    spans(at: offset).map { $0.bytes(at: 0) }
  }

  /// The elements.
  @inlinable public func messages<M: Message>(at offset: Int) -> [M] {
    slotsList(at: offset).map { M(slots: $0) }
  }

  /// The elements as views.
  @inlinable public func slotsList(at offset: Int) -> SlotsList {
    let count = count(at: offset)
    return SlotsList(first: count > 0 ? elements(at: offset) : base, count: count, stride: 8, areDirect: false)
  }

  @inlinable func spans(at offset: Int) -> SlotsList {
    let count = count(at: offset)
    return SlotsList(first: count > 0 ? elements(at: offset) : base, count: count, stride: SlotLayout.span, areDirect: true)
  }
}

/// The elements of a repeated field, as views.
public struct SlotsList: RandomAccessCollection {
  @usableFromInline let first: UnsafeRawPointer
  /// The number of elements.
  public let count: Int
  @usableFromInline let stride: Int
  @usableFromInline let areDirect: Bool

  @inlinable init(first: UnsafeRawPointer, count: Int, stride: Int, areDirect: Bool) {
    self.first = first
    self.count = count
    self.stride = stride
    self.areDirect = areDirect
  }

  /// The first position: 0.
  @inlinable public var startIndex: Int { 0 }
  /// The position after the last element.
  @inlinable public var endIndex: Int { count }

  /// The element at a position.
  @inlinable public subscript(position: Int) -> MessageSlots {
    let element = first + position * stride
    return MessageSlots(areDirect ? element : element.load(as: UnsafeRawPointer.self))
  }
}
