package import Buffers
internal import CZlib
package import RPC

/// Compresses and restores whole messages, one at a time, with zlib states that it keeps between messages.
///
/// Confined to one owner: a loop has one for all its calls. A state takes about 300 KiB and is made when it is first needed.
package final class Compressor {
  private var deflaters: [MessageCompression: UnsafeMutablePointer<z_stream>] = [:]
  private var inflaters: [MessageCompression: UnsafeMutablePointer<z_stream>] = [:]
  private static let step = 16 << 10

  /// A compressor without states.
  package init() {}

  deinit {
    for stream in deflaters.values {
      deflateEnd(stream)
      stream.deallocate()
    }
    for stream in inflaters.values {
      inflateEnd(stream)
      stream.deallocate()
    }
  }

  /// Appends the compressed form of a message to a buffer.
  ///
  /// - Returns: The number of bytes appended.
  @discardableResult
  package func compress(
    _ bytes: UnsafeRawBufferPointer, _ compression: MessageCompression, into buffer: ByteBuffer
  ) -> Int {
    guard let bits = Self.windowBits(compression) else {
      buffer.append(bytes)
      return bytes.count
    }
    let stream = deflater(compression, bits)
    deflateReset(stream)
    let bound = Int(deflateBound(stream, UInt(bytes.count)))
    let room = buffer.reserve(bound)
    point(stream, at: bytes)
    stream.pointee.next_out = room.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_out = UInt32(bound)
    let result = deflate(stream, Z_FINISH)
    precondition(result == Z_STREAM_END, "zlib wrote more than its own bound")
    let count = bound - Int(stream.pointee.avail_out)
    buffer.commit(count)
    return count
  }

  /// Appends a message to a buffer that `bytes` holds in compressed form.
  ///
  /// - Parameter maximumBytes: The most bytes that the message may have; no more than that are ever written.
  /// - Returns: The number of bytes appended.
  /// - Throws: ``CompressionError``; the buffer is unchanged then.
  @discardableResult
  package func decompress(
    _ bytes: UnsafeRawBufferPointer, _ compression: MessageCompression, into buffer: ByteBuffer, maximumBytes: Int
  ) throws(CompressionError) -> Int {
    let start = buffer.count
    do throws(CompressionError) {
      guard let bits = Self.windowBits(compression) else {
        guard bytes.count <= maximumBytes else { throw Self.tooLarge(maximumBytes) }
        buffer.append(bytes)
        return bytes.count
      }
      try restore(bytes, inflater(compression, bits), buffer, maximumBytes)
      return buffer.count - start
    } catch {
      buffer.truncate(to: start)
      throw error
    }
  }

  private func restore(
    _ bytes: UnsafeRawBufferPointer, _ stream: UnsafeMutablePointer<z_stream>, _ buffer: ByteBuffer, _ maximumBytes: Int
  ) throws(CompressionError) {
    inflateReset(stream)
    point(stream, at: bytes)
    var total = 0
    while true {
      // One byte more than allowed tells too much from just enough; a bomb never gets more memory than that.
      let wanted = min(max(Self.step, bytes.count * 2), maximumBytes - total + 1)
      let room = buffer.reserve(wanted)
      stream.pointee.next_out = room.assumingMemoryBound(to: UInt8.self)
      stream.pointee.avail_out = UInt32(wanted)
      let result = inflate(stream, Z_NO_FLUSH)
      let count = wanted - Int(stream.pointee.avail_out)
      buffer.commit(count)
      total += count
      guard total <= maximumBytes else { throw Self.tooLarge(maximumBytes) }
      switch result {
      case Z_STREAM_END:
        guard stream.pointee.avail_in == 0 else { throw CompressionError(.malformed, "bytes follow the compressed message") }
        return
      case Z_OK where count > 0 || stream.pointee.avail_in > 0: continue
      case Z_OK, Z_BUF_ERROR: throw CompressionError(.malformed, "the compressed message is cut off")
      default: throw CompressionError(.malformed, "the message is not in the compression that was named")
      }
    }
  }

  private static func tooLarge(_ limit: Int) -> CompressionError {
    CompressionError(.tooLarge, "the message has more than \(limit) bytes once restored")
  }

  /// zlib's way of naming formats: 16 more than the window's bits for gzip.
  private static func windowBits(_ compression: MessageCompression) -> Int32? {
    switch compression {
    case .identity: nil
    case .gzip: 15 + 16
    case .deflate: 15
    }
  }

  private func point(_ stream: UnsafeMutablePointer<z_stream>, at bytes: UnsafeRawBufferPointer) {
    // zlib reads through a pointer that its interface forgot to call constant.
    stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
    stream.pointee.avail_in = UInt32(bytes.count)
  }

  private func deflater(_ compression: MessageCompression, _ bits: Int32) -> UnsafeMutablePointer<z_stream> {
    if let known = deflaters[compression] { return known }
    let made = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    made.initialize(to: z_stream())
    precondition(parley_deflate_init(made, Z_DEFAULT_COMPRESSION, bits) == Z_OK, "zlib has no memory for a state")
    deflaters[compression] = made
    return made
  }

  private func inflater(_ compression: MessageCompression, _ bits: Int32) -> UnsafeMutablePointer<z_stream> {
    if let known = inflaters[compression] { return known }
    let made = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    made.initialize(to: z_stream())
    precondition(parley_inflate_init(made, bits) == Z_OK, "zlib has no memory for a state")
    inflaters[compression] = made
    return made
  }
}
