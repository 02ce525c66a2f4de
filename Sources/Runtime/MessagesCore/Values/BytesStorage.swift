/// What a ``BytesStorage`` says of itself: 16 bytes, so that its content starts at a multiple of 16.
@usableFromInline struct BytesHeader: Sendable {
  @usableFromInline let capacity: Int
  @usableFromInline let reserved = 0
  @inlinable init(capacity: Int) { self.capacity = capacity }
}

/// Reference-counted contiguous memory behind ``Bytes``.
///
/// The content starts at a fixed distance from the object, so the object can be found again from a pointer to its content:
/// this is how a large field that the decoder wrote becomes a ``Bytes`` without a second copy.
@usableFromInline final class BytesStorage: ManagedBuffer<BytesHeader, UInt8> {
  /// The distance from the object to its content: object header, ``BytesHeader``.
  @inlinable static var contentOffset: Int { 32 }

  @inlinable static func make(capacity: Int) -> BytesStorage {
    let buffer = BytesStorage.create(minimumCapacity: capacity) { _ in BytesHeader(capacity: capacity) }
    return unsafeDowncast(buffer, to: BytesStorage.self)
  }

  @inlinable var content: UnsafeMutablePointer<UInt8> {
    withUnsafeMutablePointerToElements { $0 }
  }

  /// The storage whose content starts at `content`.
  @inlinable static func owning(content: UnsafeRawPointer) -> BytesStorage {
    Unmanaged<BytesStorage>.fromOpaque(content - contentOffset).takeUnretainedValue()
  }
}
