package import Buffers
package import Compression
package import MessagesCore
package import MessagesWire
package import RPC

/// Turns messages into bytes and back in every codec and compression, one at a time, in memory that it keeps.
///
/// Confined to one loop, which has one for all its calls. Server and client say by themselves what its errors mean to a call.
package final class MessageCoding {
  private let decoder: MessageDecoder
  private let encoder: MessageEncoder
  private let compressor = Compressor()
  private let scratch = ByteBuffer()
  private let reading: JSONDecodingOptions
  private let writing: JSONEncodingOptions
  private static let keptBytes = 256 << 10

  /// A coding on these two; `registry` holds the messages that may stand in an `Any` of JSON.
  package init(_ decoder: MessageDecoder, _ encoder: MessageEncoder, registry: MessageRegistry?, ignoresUnknownFields: Bool) {
    self.decoder = decoder
    self.encoder = encoder
    reading = JSONDecodingOptions(ignoresUnknownFields: ignoresUnknownFields, registry: registry)
    writing = JSONEncodingOptions(registry: registry)
  }

  /// Reads a message.
  package func decode<M: Message>(
    _ type: M.Type, _ bytes: UnsafeRawBufferPointer, _ codec: MessageCodec
  ) throws(DecodeError) -> M {
    switch codec {
    case .proto: try decoder.decode(type, from: bytes)
    case .json: try M(json: bytes, options: reading)
    }
  }

  /// Appends a message to a buffer.
  package func encode<M: Message>(_ message: M, _ codec: MessageCodec, into buffer: ByteBuffer) throws(EncodeError) {
    switch codec {
    case .proto: try encoder.encode(message, into: buffer)
    case .json: buffer.append(contentsOf: try message.jsonBytes(options: writing))
    }
  }

  /// Appends to `buffer` what `write` writes, compressed if that is worth it.
  ///
  /// - Parameter minimumBytes: The least bytes that compression is tried for; zero means that it is used whatever it gains.
  /// - Returns: Whether it is compressed.
  @discardableResult
  package func compressing<Failure: Error>(
    _ compression: MessageCompression, minimumBytes: Int = 0, into buffer: ByteBuffer,
    _ write: (ByteBuffer) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    defer { scratch.reset(keeping: Self.keptBytes) }
    try write(scratch)
    let start = buffer.count
    if scratch.count >= minimumBytes {
      let count = compressor.compress(scratch.bytes, compression, into: buffer)
      if minimumBytes == 0 || count < scratch.count { return true }
      buffer.truncate(to: start)
    }
    buffer.append(scratch.bytes)
    return false
  }

  /// Calls `read` with the restored form of `bytes`, of at most `maximumBytes`; the bytes are there until it returns.
  ///
  /// - Parameter refusal: What bytes that cannot be restored mean.
  package func restoring<Value, Failure: Error>(
    _ bytes: UnsafeRawBufferPointer, _ compression: MessageCompression, maximumBytes: Int,
    refusal: (CompressionError) -> Failure, reading read: (UnsafeRawBufferPointer) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    defer { scratch.reset(keeping: Self.keptBytes) }
    do throws(CompressionError) {
      try compressor.decompress(bytes, compression, into: scratch, maximumBytes: maximumBytes)
    } catch {
      throw refusal(error)
    }
    return try read(scratch.bytes)
  }
}
