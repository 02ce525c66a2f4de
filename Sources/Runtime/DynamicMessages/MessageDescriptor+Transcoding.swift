public import MessagesCore
internal import MessagesWire

/// From proto3 JSON to the wire format and back, for messages that are known by their descriptor alone.
extension MessageDescriptor {
  /// The wire format of a JSON text.
  ///
  /// - Parameters:
  ///   - json: The text in UTF-8.
  ///   - options: What to accept, and what it may cost.
  /// - Throws: ``DecodeError``.
  public func wireBytes(json: [UInt8], options: JSONDecodingOptions = JSONDecodingOptions()) throws(DecodeError) -> [UInt8] {
    let wire = WireFormat()
    // Before the slots are made: they hold the address of what this prepares.
    wire.prepare(self)
    let arena = SlotArena()
    let slots = try slots(json: json, options: options, in: arena)
    return withExtendedLifetime(arena) { wire.pack(slots) }
  }

  /// The JSON text, in UTF-8, of a message in wire format. Fields that the descriptor does not know are left out.
  ///
  /// - Parameters:
  ///   - wire: The message, whole.
  ///   - limits: What decoding may cost.
  ///   - options: How to write.
  /// - Throws: ``DecodeError`` when the bytes are no such message, ``EncodeError`` when it holds a value without a JSON form.
  public func jsonBytes(
    wire: [UInt8], limits: DecodeLimits = DecodeLimits(), options: JSONEncodingOptions = JSONEncodingOptions()
  ) throws -> [UInt8] {
    let decoder = MessageDecoder(limits: limits)
    return try wire.withUnsafeBytes { bytes in
      let slots = try decoder.unpack(bytes, as: self)
      return try withExtendedLifetime(decoder) { try json(of: slots, options: options) }
    }
  }
}

extension MessageRegistry {
  /// A registry of what a pool declares, for the content of `google.protobuf.Any`.
  public init(_ pool: DescriptorPool) {
    self.init(wire: WireFormat()) { name in try? pool.message(name) }
  }
}
