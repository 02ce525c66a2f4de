internal import Buffers
internal import Compression
internal import MessagesCore
internal import RPC
internal import RPCWire

/// What the errors of a channel's coding mean to its calls.
extension MessageCoding {
  /// Appends a request to a buffer.
  func add<M: Message>(_ message: M, _ codec: MessageCodec, to buffer: ByteBuffer) throws(RPCError) {
    do throws(EncodeError) { try encode(message, codec, into: buffer) } catch {
      throw RPCError(.internal, "the request cannot be encoded: \(error)", cause: error)
    }
  }

  /// Reads a response.
  func response<M: Message>(
    _ type: M.Type, _ bytes: UnsafeRawBufferPointer, _ codec: MessageCodec
  ) throws(RPCError) -> M {
    do throws(DecodeError) { return try decode(type, bytes, codec) } catch {
      throw RPCError(.internal, "the response cannot be decoded: \(error)", cause: error)
    }
  }

  /// Calls `read` with the restored form of `bytes`.
  func restoring<Value>(
    _ bytes: UnsafeRawBufferPointer, _ compression: MessageCompression, maximumBytes: Int,
    _ read: (UnsafeRawBufferPointer) throws(RPCError) -> Value
  ) throws(RPCError) -> Value {
    try restoring(bytes, compression, maximumBytes: maximumBytes) { (error) -> RPCError in
      switch error.code {
      case .tooLarge: RPCError(.resourceExhausted, error.description, cause: error)
      case .malformed: RPCError(.internal, "the response cannot be restored: \(error)", cause: error)
      }
    } reading: { (bytes) throws(RPCError) in
      try read(bytes)
    }
  }
}
