import CProtobufC
public import MessagesCore

/// Turns wire bytes into messages, one at a time, in memory that it keeps.
///
/// Confined to one owner (a loop has one for all its connections). A message that breaks the format or the limits is refused
/// with an error, whatever its bytes: nothing in here recurses before nesting is known to be at most 100.
public final class MessageDecoder {
  private let limits: DecodeLimits
  private let arena = SlotArena()
  private let scanner = WireScanner()
  private var allocator: ProtobufCAllocator

  /// A decoder.
  public init(limits: DecodeLimits = DecodeLimits()) {
    self.limits = limits
    allocator = ArenaAllocator.make(for: arena)
  }

  /// Decodes one message.
  ///
  /// - Parameters:
  ///   - type: The message to expect.
  ///   - bytes: Its wire format, whole; copied where the message keeps anything of it.
  /// - Returns: The message.
  /// - Throws: ``MessagesCore/DecodeError``; ``MessagesCore/DecodeError/Code/budgetExceeded`` when the limits on memory do not allow it.
  @inlinable
  public func decode<M: Message>(_ type: M.Type = M.self, from bytes: UnsafeRawBufferPointer) throws(DecodeError) -> M {
    let slots = try unpack(bytes, as: M.descriptor)
    defer { finish() }
    return M(slots: slots)
  }

  /// Decodes into slots, which are valid until the next call or `finish`.
  ///
  /// - Parameters:
  ///   - bytes: The wire format of one message.
  ///   - descriptor: The message to expect.
  /// - Returns: A view of the decoder's memory.
  /// - Throws: ``MessagesCore/DecodeError``.
  public func unpack(_ bytes: UnsafeRawBufferPointer, as descriptor: MessageDescriptor) throws(DecodeError) -> MessageSlots {
    let c = WireDescriptor.of(descriptor)
    let table = WireDescriptor.scanTable(c)
    switch try scanner.scan(bytes, table) {
    case .plain: return try unpackPlain(bytes, c, inputSize: bytes.count)
    case .needsNormalizing:
      let normalized = try WireNormalizer.normalize(bytes, table)
      return try normalized.withUnsafeBytes { plain in
        Result { () throws(DecodeError) in try unpackPlain(plain, c, inputSize: bytes.count) }
      }.get()
    }
  }

  /// Gives back memory that a large message took beyond what the decoder keeps.
  @inlinable public func finish() {
    arenaRelease()
  }

  @usableFromInline func arenaRelease() {
    arena.release()
  }

  private func unpackPlain(
    _ bytes: UnsafeRawBufferPointer, _ c: UnsafePointer<ProtobufCMessageDescriptor>, inputSize: Int
  ) throws(DecodeError) -> MessageSlots {
    arena.reset(budget: limits.budget(forInput: inputSize))
    arena.state.pointee.stackFloor = ArenaAllocator.stackAddress() - ArenaAllocator.stackAllowance
    let data = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    if let message = protobuf_c_message_unpack(c, &allocator, bytes.count, data) {
      return MessageSlots(UnsafeRawPointer(message))
    }
    switch arena.state.pointee.failure {
    case 1: throw .tooDeep
    case 2: throw DecodeError(.budgetExceeded, "message takes more memory than its size allows")
    default: throw DecodeError(.malformed, "message does not have the expected form")
    }
  }
}
