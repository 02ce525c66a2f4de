/// One message on the wire: a byte of flags, four bytes of length in network order, and the message.
package struct GRPCFrame: Sendable {
  /// The bytes in front of every message.
  package static let prefixBytes = 5

  /// Whether the message is compressed in the stream's encoding.
  package let isCompressed: Bool
  /// The length of the message.
  package let count: Int
  /// Where the frame ends, counted from its first byte.
  package var end: Int { Self.prefixBytes + count }

  /// What the next bytes of a stream hold.
  package enum Result: Sendable {
    /// No byte at all.
    case empty
    /// The start of a frame; it takes `total` bytes in all, as far as is known yet.
    case incomplete(total: Int)
    /// A whole frame.
    case complete(GRPCFrame)
    /// A frame whose message, of so many bytes, is over the limit. Nothing was allocated for it.
    case tooLarge(Int)
  }

  /// Looks at the frame that `bytes` begins with.
  @inlinable
  package static func parse(_ bytes: UnsafeRawBufferPointer, maximumBytes: Int) -> Result {
    guard bytes.count >= prefixBytes else { return bytes.isEmpty ? .empty : .incomplete(total: prefixBytes) }
    let count = Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt32.self)))
    guard count <= maximumBytes else { return .tooLarge(count) }
    guard bytes.count >= prefixBytes + count else { return .incomplete(total: prefixBytes + count) }
    return .complete(GRPCFrame(isCompressed: bytes[0] & 1 == 1, count: count))
  }

  @usableFromInline
  init(isCompressed: Bool, count: Int) {
    self.isCompressed = isCompressed
    self.count = count
  }
}
