public import Buffers
import CProtobufC
public import MessagesCore

/// Turns messages into wire bytes, one at a time, in memory that it keeps.
///
/// Confined to one owner (a loop has one for all its connections). There is no pass to measure the message: while its slots are
/// filled an upper bound adds up, the buffer makes that much room, and protobuf-c packs straight behind what the buffer holds.
public final class MessageEncoder {
  private let arena = SlotArena()

  /// An encoder.
  public init() {}

  /// Appends a message to a buffer.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - buffer: Where its wire format goes, behind what is there.
  /// - Returns: The number of bytes appended.
  /// - Throws: ``MessagesCore/EncodeError`` when it is nested too deeply or larger than 2 GiB; the buffer is unchanged then.
  @inlinable @discardableResult
  public func encode<M: Message>(_ message: M, into buffer: ByteBuffer) throws(EncodeError) -> Int {
    let slots = try begin(M.descriptor)
    message.fill(slots)
    return try withExtendedLifetime(message) { () throws(EncodeError) in try pack(slots, into: buffer) }
  }

  /// Empty slots to fill for `pack`; everything handed out before is gone.
  public func begin(_ descriptor: MessageDescriptor) throws(EncodeError) -> SlotWriter {
    _ = WireDescriptor.of(descriptor)
    arena.reset(budget: Int(Int32.max))
    guard let slots = SlotWriter(descriptor, in: arena.state) else { throw .tooLarge }
    return slots
  }

  /// Packs filled slots behind the content of a buffer.
  ///
  /// - Parameters:
  ///   - slots: The message.
  ///   - buffer: Where its bytes go.
  ///   - prefix: Bytes of zero to leave in front of the message, for whoever writes its length there.
  /// - Returns: The number of bytes appended, without the prefix.
  public func pack(_ slots: SlotWriter, into buffer: ByteBuffer, behind prefix: Int = 0) throws(EncodeError) -> Int {
    let state = slots.arena
    defer { if state.pointee.isSpread { arena.release() } }
    let bound = state.pointee.bound
    guard state.pointee.failure == 0, bound <= Int(Int32.max) else { throw failure(state.pointee.failure) }
    let room = buffer.reserve(prefix + bound)
    for offset in 0..<prefix { room.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self) }
    let message = UnsafeRawPointer(slots.base).assumingMemoryBound(to: ProtobufCMessage.self)
    let count = protobuf_c_message_pack(message, (room + prefix).assumingMemoryBound(to: UInt8.self))
    precondition(count <= bound, "packed beyond the bound")
    buffer.commit(prefix + count)
    return count
  }

  private func failure(_ code: Int) -> EncodeError {
    code == 1 ? EncodeError(.tooDeep, "messages nested deeper than \(DecodeLimits.maximumDepth)") : .tooLarge
  }
}

extension EncodeError {
  static let tooLarge = EncodeError(.tooLarge, "message larger than 2 GiB")
}
