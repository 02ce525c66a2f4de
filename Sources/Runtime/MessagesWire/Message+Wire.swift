import Buffers
public import MessagesCore

/// Conveniences for code that is not on a hot path: each call has a coder of its own.
extension Message {
  /// Decodes a message from its wire format.
  ///
  /// - Parameters:
  ///   - bytes: The wire format, whole.
  ///   - limits: What decoding may cost.
  /// - Throws: ``DecodeError``.
  public init(protobuf bytes: some Sequence<UInt8>, limits: DecodeLimits = DecodeLimits()) throws(DecodeError) {
    self = try Bytes(bytes).withUnsafeBytes { bytes throws(DecodeError) in
      try MessageDecoder(limits: limits).decode(Self.self, from: bytes)
    }
  }

  /// The wire format of this message.
  ///
  /// - Throws: ``EncodeError`` when it is nested deeper than 100 levels or larger than 2 GiB.
  public func protobufBytes() throws(EncodeError) -> [UInt8] {
    let buffer = ByteBuffer()
    try MessageEncoder().encode(self, into: buffer)
    return buffer.withUnsafeBytes { Array($0) }
  }
}
