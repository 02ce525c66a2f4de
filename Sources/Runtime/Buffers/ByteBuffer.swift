/// Growable contiguous memory to write into at the end and read from at the front, kept between uses.
///
/// Confined to whoever owns it (a loop, a task): it is not `Sendable`. An encoder reserves room, writes behind the end, and
/// commits what it has written, so that a frame's prefix, its message and the next frame lie in one run of memory.
public final class ByteBuffer {
  @usableFromInline var base: UnsafeMutableRawPointer
  @usableFromInline var capacity: Int
  /// Where the first unread byte is.
  @usableFromInline var start = 0
  @usableFromInline var unread = 0
  /// The number of unread bytes.
  @inlinable public var count: Int { unread }

  /// An empty buffer.
  ///
  /// - Parameter capacity: Bytes to have ready.
  public init(capacity: Int = 512) {
    self.capacity = max(capacity, 16)
    base = .allocate(byteCount: self.capacity, alignment: 16)
  }

  deinit { base.deallocate() }

  /// Whether there is nothing to read.
  @inlinable public var isEmpty: Bool { count == 0 }

  /// The unread bytes; valid until the next change of the buffer.
  @inlinable public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base + start, count: count) }

  /// Makes room behind the end, without changing `count`.
  ///
  /// - Parameter extra: The number of bytes that will be written at most.
  /// - Returns: Where to write; valid until the next change of the buffer.
  @inlinable public func reserve(_ extra: Int) -> UnsafeMutableRawPointer {
    if capacity - start - count < extra { grow(extra) }
    return base + start + count
  }

  /// Counts bytes that were written behind the end.
  ///
  /// - Parameter written: At most what was reserved.
  @inlinable public func commit(_ written: Int) {
    precondition(written >= 0 && written <= capacity - start - count, "more committed than reserved")
    unread += written
  }

  /// Appends a copy of memory.
  public func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    reserve(bytes.count).copyMemory(from: source, byteCount: bytes.count)
    unread += bytes.count
  }

  /// Appends one byte.
  public func append(_ byte: UInt8) {
    reserve(1).storeBytes(of: byte, as: UInt8.self)
    unread += 1
  }

  /// Appends bytes.
  public func append(contentsOf bytes: some Sequence<UInt8>) {
    if bytes.withContiguousStorageIfAvailable({ append(UnsafeRawBufferPointer($0)) }) == nil {
      for byte in bytes { append(byte) }
    }
  }

  /// Writes an integer in network order over unread bytes that are already there.
  ///
  /// - Parameters:
  ///   - value: The integer.
  ///   - offset: Where its first byte goes, counted from the first unread byte.
  @inlinable public func overwrite(bigEndian value: UInt32, at offset: Int) {
    precondition(offset >= 0 && offset + 4 <= count, "outside the bytes written")
    (base + start + offset).storeBytes(of: value.bigEndian, as: UInt32.self)
  }

  /// Writes a byte over an unread one that is already there.
  ///
  /// - Parameters:
  ///   - byte: The byte.
  ///   - offset: Where it goes, counted from the first unread byte.
  @inlinable public func overwrite(_ byte: UInt8, at offset: Int) {
    precondition(offset >= 0 && offset < count, "outside the bytes written")
    (base + start + offset).storeBytes(of: byte, as: UInt8.self)
  }

  /// Forgets bytes from the front, in constant time.
  ///
  /// - Parameter consumed: How many; at most `count`.
  @inlinable public func removeFirst(_ consumed: Int) {
    precondition(consumed >= 0 && consumed <= count, "more removed than there is")
    unread -= consumed
    start = count == 0 ? 0 : start + consumed
  }

  /// Forgets bytes from the end.
  ///
  /// - Parameter newCount: How many stay; at most `count`.
  @inlinable public func truncate(to newCount: Int) {
    precondition(newCount >= 0 && newCount <= count, "longer than before")
    unread = newCount
  }

  /// Forgets the content.
  ///
  /// - Parameter keeping: Memory above this size is given back.
  public func reset(keeping: Int = .max) {
    unread = 0
    start = 0
    if capacity > keeping {
      base.deallocate()
      capacity = max(keeping, 16)
      base = .allocate(byteCount: capacity, alignment: 16)
    }
  }

  /// Calls `body` with the unread bytes; the pointer must not outlive the call.
  @inlinable public func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: base + start, count: count))
  }

  /// Room is found by moving the unread bytes to the front when that is enough, else in memory twice as large.
  @usableFromInline func grow(_ extra: Int) {
    if start > 0 && capacity - count >= extra && start >= count {
      base.copyMemory(from: base + start, byteCount: count)
    } else {
      let wanted = max(count + extra, capacity * 2)
      let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
      larger.copyMemory(from: base + start, byteCount: count)
      base.deallocate()
      base = larger
      capacity = wanted
    }
    start = 0
  }
}
