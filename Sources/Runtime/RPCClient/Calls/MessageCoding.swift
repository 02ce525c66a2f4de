internal import Buffers
internal import Compression
internal import MessagesCore
internal import MessagesWire
internal import RPC
internal import RPCWire

/// Makes bytes of messages and messages of bytes, in a channel's codec, with memory that it keeps between messages.
///
/// Confined to one loop.
final class MessageCoding {
  private let codec: MessageCodec
  private let registry: MessageRegistry?
  private let encoder = MessageEncoder()
  private let decoder = MessageDecoder()
  private let compressor = Compressor()
  private let scratch = ByteBuffer()
  private static let keptBytes = 256 << 10

  init(_ configuration: ClientChannelConfiguration) {
    codec = configuration.codec.wire
    registry = configuration.registry
  }

  /// Appends a request to a buffer.
  func encode<M: Message>(_ message: M, into buffer: ByteBuffer) throws(RPCError) {
    do throws(EncodeError) {
      switch codec {
      case .proto: try encoder.encode(message, into: buffer)
      case .json: buffer.append(contentsOf: try message.jsonBytes(options: .init(registry: registry)))
      }
    } catch {
      throw RPCError(.internal, "the request cannot be encoded: \(error)", cause: error)
    }
  }

  /// Reads a response.
  func decode<M: Message>(_ type: M.Type, _ bytes: UnsafeRawBufferPointer) throws(RPCError) -> M {
    do throws(DecodeError) {
      switch codec {
      case .proto: return try decoder.decode(type, from: bytes)
      case .json: return try M(json: bytes, options: .init(ignoresUnknownFields: true, registry: registry))
      }
    } catch {
      throw RPCError(.internal, "the response cannot be decoded: \(error)", cause: error)
    }
  }

  /// Appends to `buffer` in compressed form what `write` writes.
  func compressing(
    _ compression: MessageCompression, into buffer: ByteBuffer, _ write: (ByteBuffer) throws(RPCError) -> Void
  ) throws(RPCError) {
    defer { scratch.reset(keeping: Self.keptBytes) }
    try write(scratch)
    compressor.compress(scratch.bytes, compression, into: buffer)
  }

  /// Calls `read` with the restored form of `bytes`.
  func restoring<Value>(
    _ bytes: UnsafeRawBufferPointer, _ compression: MessageCompression, maximumBytes: Int,
    _ read: (UnsafeRawBufferPointer) throws(RPCError) -> Value
  ) throws(RPCError) -> Value {
    defer { scratch.reset(keeping: Self.keptBytes) }
    do throws(CompressionError) {
      try compressor.decompress(bytes, compression, into: scratch, maximumBytes: maximumBytes)
    } catch {
      switch error.code {
      case .tooLarge: throw RPCError(.resourceExhausted, error.description, cause: error)
      case .malformed: throw RPCError(.internal, "the response cannot be restored: \(error)", cause: error)
      }
    }
    return try read(scratch.bytes)
  }
}
