/// How proto3 JSON is written.
public struct JSONEncodingOptions: Sendable {
  /// Whether fields with implicit presence are written when they have their default value.
  public var writesDefaults: Bool
  /// Whether fields go by their names in the `.proto` file instead of their JSON names.
  public var usesProtoNames: Bool
  /// Whether to indent.
  public var isPretty: Bool
  /// The messages that an `Any` may hold.
  public var registry: MessageRegistry?

  /// Options; the defaults are those of the proto3 JSON mapping.
  public init(
    writesDefaults: Bool = false, usesProtoNames: Bool = false, isPretty: Bool = false, registry: MessageRegistry? = nil
  ) {
    self.writesDefaults = writesDefaults
    self.usesProtoNames = usesProtoNames
    self.isPretty = isPretty
    self.registry = registry
  }
}

/// How proto3 JSON is read.
public struct JSONDecodingOptions: Sendable {
  /// Whether members without a field, and enum names without a number, are skipped instead of refused.
  public var ignoresUnknownFields: Bool
  /// The messages that an `Any` may hold.
  public var registry: MessageRegistry?
  /// What decoding may cost.
  public var limits: DecodeLimits

  /// Options; the defaults are those of the proto3 JSON mapping, with memory of 32 bytes for each byte of text.
  public init(
    ignoresUnknownFields: Bool = false, registry: MessageRegistry? = nil, limits: DecodeLimits = DecodeLimits()
  ) {
    self.ignoresUnknownFields = ignoresUnknownFields
    self.registry = registry
    self.limits = limits
  }
}

extension Message {
  /// Reads a message from proto3 JSON.
  ///
  /// - Parameters:
  ///   - json: The text in UTF-8.
  ///   - options: What to accept.
  /// - Throws: ``DecodeError``.
  public init(json: some Sequence<UInt8>, options: JSONDecodingOptions = JSONDecodingOptions()) throws(DecodeError) {
    let arena = SlotArena()
    let slots = try Self.descriptor.slots(json: Array(json), options: options, in: arena)
    self = withExtendedLifetime(arena) { Self(slots: MessageSlots(slots.base)) }
  }

  /// Reads a message from proto3 JSON.
  public init(jsonString text: String, options: JSONDecodingOptions = JSONDecodingOptions()) throws(DecodeError) {
    try self.init(json: text.utf8, options: options)
  }

  /// This message as proto3 JSON, in UTF-8. Fields that the descriptor does not know are left out.
  ///
  /// - Throws: ``EncodeError`` when it is nested deeper than 100 levels or holds a value that JSON has no form for.
  public func jsonBytes(options: JSONEncodingOptions = JSONEncodingOptions()) throws(EncodeError) -> [UInt8] {
    let arena = SlotArena()
    arena.reset(budget: Int(Int32.max))
    guard let slots = SlotWriter(Self.descriptor, in: arena.state) else { throw EncodeError(.tooLarge, "message too large") }
    fill(slots)
    guard arena.state.pointee.failure == 0 else {
      throw EncodeError(
        arena.state.pointee.failure == 1 ? .tooDeep : .tooLarge, "message nested deeper than 100 levels or larger than 2 GiB")
    }
    return try withExtendedLifetime(arena) { () throws(EncodeError) in
      try Self.descriptor.json(of: MessageSlots(slots.base), options: options)
    }
  }

  /// This message as proto3 JSON.
  public func jsonString(options: JSONEncodingOptions = JSONEncodingOptions()) throws(EncodeError) -> String {
    String(decoding: try jsonBytes(options: options), as: UTF8.self)
  }
}

extension DecodeError {
  static let budget = DecodeError(.budgetExceeded, "message takes more memory than its size allows")
}
