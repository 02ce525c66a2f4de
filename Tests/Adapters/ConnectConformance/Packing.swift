public import MessagesCore
internal import MessagesWire
public import RPC
public import WellKnown

extension GoogleProtobuf.AnyMessage {
  /// A message with its type's URL.
  ///
  /// - Throws: ``RPCError`` with INTERNAL when it cannot be encoded.
  public init<M: Message>(packing message: M) throws(RPCError) {
    let bytes: [UInt8]
    do { bytes = try message.protobufBytes() } catch { throw RPCError(.internal, "\(error)", cause: error) }
    self.init(typeURL: "type.googleapis.com/" + M.descriptor.name, value: Bytes(bytes))
  }

  /// The message within.
  ///
  /// - Throws: ``RPCError`` with INVALID_ARGUMENT when it is of another type or cannot be read.
  public func unpacked<M: Message>(_ type: M.Type) throws(RPCError) -> M {
    guard typeURL.split(separator: "/").last.map(String.init) == M.descriptor.name else {
      throw RPCError(.invalidArgument, "a \(M.descriptor.name) is needed, not '\(typeURL)'")
    }
    do { return try M(protobuf: value) } catch { throw RPCError(.invalidArgument, "\(error)", cause: error) }
  }
}

extension ErrorDetail {
  /// A message as a detail.
  ///
  /// - Throws: ``RPCError`` with INTERNAL when it cannot be encoded.
  public init(packing message: some Message) throws(RPCError) {
    let any = try GoogleProtobuf.AnyMessage(packing: message)
    self = .other(typeURL: any.typeURL, bytes: [UInt8](any.value))
  }
}
