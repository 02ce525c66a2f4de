/// One message on the wire of gRPC, gRPC-Web and Connect's streams: a byte of flags, four bytes of length in network order, and
/// the message.
package struct Envelope: Sendable {
  /// The bytes in front of every message.
  package static let prefixBytes = 5
  /// The message is compressed in the stream's encoding.
  package static let compressed: UInt8 = 0x01
  /// Connect: the envelope is the last one and holds the end of the stream.
  package static let endOfStream: UInt8 = 0x02
  /// gRPC-Web: the envelope is the last one and holds the trailers.
  package static let trailers: UInt8 = 0x80

  /// What kind of content it is.
  package let flags: UInt8
  /// The length of the message.
  package let count: Int
  /// Where the envelope ends, counted from its first byte.
  @inlinable
  package var end: Int { Self.prefixBytes + count }
  /// Whether the message is compressed in the stream's encoding.
  @inlinable
  package var isCompressed: Bool { flags & Self.compressed != 0 }

  /// Reads the prefix at `start`: flags and length, whatever they are.
  ///
  /// - Returns: nil when fewer than ``prefixBytes`` are there.
  @inlinable
  package static func prefix(of bytes: UnsafeRawBufferPointer, at start: Int = 0) -> Envelope? {
    guard bytes.count - start >= prefixBytes else { return nil }
    let count = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: start + 1, as: UInt32.self))
    return Envelope(flags: bytes[start], count: Int(count))
  }

  /// What the next bytes of a stream hold.
  package enum Result: Sendable {
    /// No byte at all.
    case empty
    /// The start of an envelope; it takes `total` bytes in all, as far as is known yet.
    case incomplete(total: Int)
    /// A whole envelope.
    case complete(Envelope)
    /// An envelope whose message, of so many bytes, is over the limit. Nothing was allocated for it.
    case tooLarge(Int)
  }

  /// Looks at the envelope that `bytes` begins with.
  ///
  /// - Parameter maximumBytes: The most bytes that a message may have. A compressed one may be longer by what a compressor adds to
  ///   bytes that it cannot compress.
  @inlinable
  package static func parse(_ bytes: UnsafeRawBufferPointer, maximumBytes: Int) -> Result {
    guard let envelope = prefix(of: bytes) else { return bytes.isEmpty ? .empty : .incomplete(total: prefixBytes) }
    let count = envelope.count
    guard count <= maximumBytes || (envelope.isCompressed && count <= longest(of: maximumBytes)) else {
      return .tooLarge(count)
    }
    return bytes.count >= envelope.end ? .complete(envelope) : .incomplete(total: envelope.end)
  }

  /// The most bytes that a message of `count` bytes may take once compressed (zlib's own bound, with its headers).
  @inlinable
  package static func longest(of count: Int) -> Int { count + count >> 10 + 64 }

  /// The five bytes in front of a message.
  package static func prefix(flags: UInt8, count: Int) -> [UInt8] {
    [flags] + withUnsafeBytes(of: UInt32(count).bigEndian) { Array($0) }
  }

  @inlinable
  init(flags: UInt8, count: Int) {
    self.flags = flags
    self.count = count
  }
}
