internal import Buffers
internal import Compression
internal import MessagesCore
internal import RPC
internal import RPCWire

/// Requests and responses in the form of their call. What is protobuf and not compressed does not come here: it is the hot path.
extension MessageCoding {
  /// Reads a request. An empty one is never compressed, whatever is said of it.
  func decode<M: Message>(
    _ type: M.Type, _ bytes: UnsafeRawBufferPointer, _ form: CallForm, isCompressed: Bool, maximumBytes: Int
  ) throws(RPCError) -> M {
    guard isCompressed, !bytes.isEmpty else {
      guard bytes.count <= maximumBytes else { throw .messageTooLarge(bytes.count, limit: maximumBytes) }
      return try request(bytes, form.codec)
    }
    return try restoring(bytes, form.requestCompression, maximumBytes: maximumBytes) { (error) -> RPCError in
      guard error.code == .malformed else { return .messageTooLarge(limit: maximumBytes) }
      // gRPC calls it INTERNAL; Connect tells the caller that the request is wrong.
      return RPCError(form.wire.isConnect ? .invalidArgument : .internal, error.description, cause: error)
    } reading: { (bytes) throws(RPCError) in
      try request(bytes, form.codec)
    }
  }

  private func request<M: Message>(_ bytes: UnsafeRawBufferPointer, _ codec: MessageCodec) throws(RPCError) -> M {
    do throws(DecodeError) { return try decode(M.self, bytes, codec) } catch { throw .undecodable(error) }
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
    return try compressing(compression, minimumBytes: minimumBytes, into: buffer) { (scratch) throws(EncodeError) in
      try encode(message, codec, into: scratch)
    }
  }
}
