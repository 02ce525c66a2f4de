/// Growable contiguous memory to write into, kept between uses.
///
/// Confined to whoever owns it (a loop, a task): it is not `Sendable`. An encoder reserves room, writes behind the end, and
/// commits what it has written, so that a frame's prefix, its message and the next frame lie in one run of memory.
public final class ByteBuffer {
  @usableFromInline var base: UnsafeMutableRawPointer
  @usableFromInline var capacity: Int
  /// The number of bytes written.
  public private(set) var count = 0

  /// An empty buffer.
  ///
  /// - Parameter capacity: Bytes to have ready.
  public init(capacity: Int = 512) {
    self.capacity = max(capacity, 16)
    base = .allocate(byteCount: self.capacity, alignment: 16)
  }

  deinit {
    base.deallocate()
  }

  /// Makes room behind the end, without changing `count`.
  ///
  /// - Parameter extra: The number of bytes that will be written at most.
  /// - Returns: Where to write; valid until the next change of the buffer.
  @inlinable public func reserve(_ extra: Int) -> UnsafeMutableRawPointer {
    if capacity - count < extra { grow(extra) }
    return base + count
  }

  /// Counts bytes that were written behind the end.
  ///
  /// - Parameter written: At most what was reserved.
  public func commit(_ written: Int) {
    precondition(written >= 0 && written <= capacity - count, "more committed than reserved")
    count += written
  }

  /// Appends a copy of memory.
  public func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    reserve(bytes.count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  /// Appends one byte.
  public func append(_ byte: UInt8) {
    reserve(1).storeBytes(of: byte, as: UInt8.self)
    count += 1
  }

  /// Appends bytes.
  public func append(contentsOf bytes: some Sequence<UInt8>) {
    if bytes.withContiguousStorageIfAvailable({ append(UnsafeRawBufferPointer($0)) }) == nil {
      for byte in bytes { append(byte) }
    }
  }

  /// Writes an integer in network order over bytes that are already there.
  ///
  /// - Parameters:
  ///   - value: The integer.
  ///   - offset: Where its first byte goes; all of it must lie below `count`.
  public func overwrite(bigEndian value: UInt32, at offset: Int) {
    precondition(offset >= 0 && offset + 4 <= count, "outside the bytes written")
    base.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt32.self)
  }

  /// Forgets bytes from the front.
  ///
  /// - Parameter consumed: How many; at most `count`.
  public func removeFirst(_ consumed: Int) {
    precondition(consumed >= 0 && consumed <= count, "more removed than there is")
    count -= consumed
    if count > 0 { base.copyMemory(from: base + consumed, byteCount: count) }
  }

  /// Forgets bytes from the end.
  ///
  /// - Parameter newCount: How many stay; at most `count`.
  public func truncate(to newCount: Int) {
    precondition(newCount >= 0 && newCount <= count, "longer than before")
    count = newCount
  }

  /// Forgets the content.
  ///
  /// - Parameter keeping: Memory above this size is given back.
  public func reset(keeping: Int = .max) {
    count = 0
    if capacity > keeping {
      base.deallocate()
      capacity = max(keeping, 16)
      base = .allocate(byteCount: capacity, alignment: 16)
    }
  }

  /// Calls `body` with the bytes written; the pointer must not outlive the call.
  @inlinable public func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  @usableFromInline func grow(_ extra: Int) {
    let wanted = max(count + extra, capacity * 2)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
    larger.copyMemory(from: base, byteCount: count)
    base.deallocate()
    base = larger
    capacity = wanted
  }
}
