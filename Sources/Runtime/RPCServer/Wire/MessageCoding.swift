internal import Buffers
internal import Compression
internal import MessagesCore
internal import MessagesWire
internal import RPC
internal import RPCWire

/// Turns messages into bytes and back in every codec and compression, one at a time, in memory that it keeps.
///
/// A loop has one for all its calls. What is protobuf and not compressed does not come here: it is the hot path.
final class MessageCoding {
  private let decoder: MessageDecoder
  private let encoder: MessageEncoder
  private let compressor = Compressor()
  private let scratch = ByteBuffer()
  private let reading: JSONDecodingOptions
  private let writing: JSONEncodingOptions
  private static let keptBytes = 256 << 10

  init(_ decoder: MessageDecoder, _ encoder: MessageEncoder, _ configuration: RPCServerConfiguration) {
    self.decoder = decoder
    self.encoder = encoder
    reading = JSONDecodingOptions(
      ignoresUnknownFields: configuration.ignoresUnknownJSONFields, registry: configuration.messageRegistry)
    writing = JSONEncodingOptions(registry: configuration.messageRegistry)
  }

  /// Reads a message. An empty one is never compressed, whatever is said of it.
  func decode<M: Message>(
    _ type: M.Type, _ bytes: UnsafeRawBufferPointer, _ form: CallForm, isCompressed: Bool, maximumBytes: Int
  ) throws(RPCError) -> M {
    guard isCompressed, !bytes.isEmpty else {
      guard bytes.count <= maximumBytes else { throw .messageTooLarge(bytes.count, limit: maximumBytes) }
      return try decode(bytes, form.codec)
    }
    defer { scratch.reset(keeping: Self.keptBytes) }
    do {
      try compressor.decompress(bytes, form.requestCompression, into: scratch, maximumBytes: maximumBytes)
    } catch {
      guard error.code == .malformed else { throw .messageTooLarge(limit: maximumBytes) }
      // gRPC calls it INTERNAL; Connect tells the caller that the request is wrong.
      throw RPCError(form.wire.isConnect ? .invalidArgument : .internal, error.description, cause: error)
    }
    return try decode(scratch.bytes, form.codec)
  }

  private func decode<M: Message>(_ bytes: UnsafeRawBufferPointer, _ codec: MessageCodec) throws(RPCError) -> M {
    do {
      switch codec {
      case .proto: return try decoder.decode(M.self, from: bytes)
      case .json: return try M(json: bytes, options: reading)
      }
    } catch {
      throw .undecodable(error)
    }
  }

  /// Appends a message to a response.
  ///
  /// - Parameters:
  ///   - compression: What to compress it with.
  ///   - minimumBytes: The least bytes that compression is tried for; zero means that it is used whatever it gains.
  /// - Returns: Whether it is compressed.
  func encode<M: Message>(
    _ message: M, _ codec: MessageCodec, _ compression: MessageCompression, minimumBytes: Int, into buffer: ByteBuffer
  ) throws(EncodeError) -> Bool {
    guard compression != .identity else {
      try encode(message, codec, into: buffer)
      return false
    }
    defer { scratch.reset(keeping: Self.keptBytes) }
    try encode(message, codec, into: scratch)
    let start = buffer.count
    if scratch.count >= minimumBytes {
      let count = compressor.compress(scratch.bytes, compression, into: buffer)
      if minimumBytes == 0 || count < scratch.count { return true }
      buffer.truncate(to: start)
    }
    buffer.append(scratch.bytes)
    return false
  }

  private func encode<M: Message>(_ message: M, _ codec: MessageCodec, into buffer: ByteBuffer) throws(EncodeError) {
    switch codec {
    case .proto: try encoder.encode(message, into: buffer)
    case .json: buffer.append(contentsOf: try message.jsonBytes(options: writing))
    }
  }
}
