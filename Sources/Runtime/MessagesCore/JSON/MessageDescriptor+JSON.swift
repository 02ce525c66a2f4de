import JSON

/// proto3 JSON of messages that are known by their descriptor alone: slots on one side, text on the other.
extension MessageDescriptor {
  /// Reads a JSON text into slots.
  ///
  /// - Parameters:
  ///   - json: The text in UTF-8.
  ///   - options: What to accept, and what it may cost.
  ///   - arena: Where the slots will lie; what it held is gone.
  /// - Returns: The slots, valid as long as the arena is not used for something else.
  /// - Throws: ``DecodeError``.
  package func slots(
    json: [UInt8], options: JSONDecodingOptions, in arena: SlotArena
  ) throws(DecodeError) -> SlotWriter {
    // A message may stand in an array in a message: twice the nesting of messages.
    let parsing = JSONParser.Options(maximumDepth: 2 * DecodeLimits.maximumDepth + 2, maximumByteCount: .max)
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONParser.parse(json, options: parsing)
    } catch {
      let code: DecodeError.Code = error.code == .tooDeep ? .tooDeep : error.code == .invalidUTF8 ? .invalidUTF8 : .malformed
      throw DecodeError(code, "\(error)")
    }
    arena.reset(budget: options.limits.budget(forInput: json.count))
    guard let slots = SlotWriter(self, in: arena.state) else { throw .budget }
    var reader = JSONMessageReader(options: options)
    try reader.message(value, into: slots, self)
    return slots
  }

  /// Writes slots of this message as a JSON text in UTF-8.
  ///
  /// - Throws: ``EncodeError`` when they hold a value that JSON has no form for.
  package func json(of slots: MessageSlots, options: JSONEncodingOptions) throws(EncodeError) -> [UInt8] {
    var writer = JSONMessageWriter(options: options)
    try writer.message(slots, self)
    return writer.out.bytes
  }
}
