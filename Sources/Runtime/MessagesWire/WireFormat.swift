import CProtobufC
public import MessagesCore

/// The wire format as proto3 JSON uses it for the content of a `google.protobuf.Any`.
public struct WireFormat: WireCoding {
  /// The wire format.
  public init() {}

  /// Makes slots of this message packable.
  public func prepare(_ descriptor: MessageDescriptor) {
    _ = WireDescriptor.of(descriptor)
  }

  /// The wire format of filled slots.
  public func pack(_ slots: SlotWriter) -> [UInt8] {
    let message = UnsafeRawPointer(slots.base).assumingMemoryBound(to: ProtobufCMessage.self)
    let count = protobuf_c_message_get_packed_size(message)
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = count == 0 ? 0 : protobuf_c_message_pack(message, buffer.baseAddress)
    }
  }

  /// Calls `body` with the slots of a message in wire format.
  public func unpack(
    _ bytes: UnsafeRawBufferPointer, as descriptor: MessageDescriptor, _ body: (MessageSlots) throws(EncodeError) -> Void
  ) throws(EncodeError) {
    let decoder = MessageDecoder()
    let slots: MessageSlots
    do throws(DecodeError) {
      slots = try decoder.unpack(bytes, as: descriptor)
    } catch {
      throw EncodeError(.invalidValue, "the content of an Any is not a \(descriptor.name)")
    }
    try withExtendedLifetime(decoder) { () throws(EncodeError) in try body(slots) }
  }
}
