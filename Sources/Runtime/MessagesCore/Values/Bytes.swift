/// An immutable run of bytes: the type of `bytes` fields.
///
/// Copies share storage, and a slice of the storage keeps all of it alive. Empty takes no allocation.
public struct Bytes {
  @usableFromInline let storage: BytesStorage?
  @usableFromInline let start: Int
  /// The number of bytes.
  public let count: Int

  @inlinable init(storage: BytesStorage?, start: Int, count: Int) {
    self.storage = storage
    self.start = start
    self.count = count
  }

  /// No bytes.
  @inlinable public init() {
    self.init(storage: nil, start: 0, count: 0)
  }

  /// A copy of memory.
  @inlinable public init(_ buffer: UnsafeRawBufferPointer) {
    guard let base = buffer.baseAddress, buffer.count > 0 else {
      self.init()
      return
    }
    let storage = BytesStorage.make(capacity: buffer.count)
    UnsafeMutableRawPointer(storage.content).copyMemory(from: base, byteCount: buffer.count)
    self.init(storage: storage, start: 0, count: buffer.count)
  }

  /// The bytes of a sequence.
  @inlinable public init(_ bytes: some Sequence<UInt8>) {
    if let copied = bytes.withContiguousStorageIfAvailable({ Bytes(UnsafeRawBufferPointer($0)) }) {
      self = copied
    } else {
      self = Array(bytes).withUnsafeBytes { Bytes($0) }
    }
  }

  /// Text as UTF-8.
  @inlinable public init(utf8 text: String) {
    self.init(text.utf8)
  }

  /// Memory of known size that a closure fills.
  ///
  /// - Parameters:
  ///   - count: The number of bytes.
  ///   - fill: Writes all `count` bytes.
  @inlinable public init<Failure: Error>(
    count: Int, filledBy fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    guard count > 0 else {
      self.init()
      return
    }
    let storage = BytesStorage.make(capacity: count)
    try fill(UnsafeMutableRawBufferPointer(start: storage.content, count: count))
    self.init(storage: storage, start: 0, count: count)
  }

  /// Calls `body` with the bytes; the pointer must not outlive the call.
  @inlinable public func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let storage else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
    defer { withExtendedLifetime(storage) {} }
    return try body(UnsafeRawBufferPointer(start: storage.content + start, count: count))
  }
}

// SAFETY: the storage is written before it is published in a value and never after.
extension Bytes: @unchecked Sendable {}

extension Bytes: RandomAccessCollection {
  /// The first position: 0.
  @inlinable public var startIndex: Int { 0 }
  /// The position after the last byte.
  @inlinable public var endIndex: Int { count }

  /// The byte at a position.
  @inlinable public subscript(position: Int) -> UInt8 {
    precondition(position >= 0 && position < count, "position out of range")
    return storage.unsafelyUnwrapped.content[start + position]
  }

  /// A run of bytes that shares this storage.
  @inlinable public subscript(bounds: Range<Int>) -> Bytes {
    precondition(bounds.lowerBound >= 0 && bounds.upperBound <= count, "range out of bounds")
    guard !bounds.isEmpty else { return Bytes() }
    return Bytes(storage: storage, start: start + bounds.lowerBound, count: bounds.count)
  }

  /// Calls `body` with the bytes.
  @inlinable public func withContiguousStorageIfAvailable<Result>(
    _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
  ) rethrows -> Result? {
    try withUnsafeBytes { try body($0.bindMemory(to: UInt8.self)) }
  }
}

extension Bytes: Hashable {
  /// Whether both hold the same bytes.
  @inlinable public static func == (left: Bytes, right: Bytes) -> Bool {
    left.count == right.count && left.withUnsafeBytes { a in right.withUnsafeBytes { b in a.elementsEqual(b) } }
  }

  /// Hashes the bytes.
  @inlinable public func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    withUnsafeBytes { hasher.combine(bytes: $0) }
  }
}

extension Bytes: ExpressibleByArrayLiteral {
  /// Bytes written out.
  @inlinable public init(arrayLiteral elements: UInt8...) {
    self.init(elements)
  }
}

extension Bytes: CustomStringConvertible {
  /// The count only: bodies may be secret.
  public var description: String { "\(count) bytes" }
}

extension Bytes {
  /// The bytes as base64 text (RFC 4648, standard alphabet, padded).
  public var base64: String {
    String(decoding: withUnsafeBytes { Base64.encode($0) }, as: UTF8.self)
  }

  /// The bytes of base64 text in either alphabet, padded or not; nil if it is not base64.
  public init?(base64 text: String) {
    guard let bytes = Base64.decode(text.utf8) else { return nil }
    self.init(bytes)
  }
}
