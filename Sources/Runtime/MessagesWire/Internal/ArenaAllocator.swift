import CProtobufC
import MessagesCore

/// protobuf-c's allocator over a ``SlotArena``: bumps a pointer, frees nothing, refuses beyond the budget.
///
/// It also refuses once the stack has grown past a limit. The scanner bounds the nesting before; this holds even if it did not.
enum ArenaAllocator {
  /// Room for about 100 levels of protobuf-c's recursion (just under 2 KiB each), in bytes.
  static let stackAllowance: UInt = 256 << 10

  static func make(for arena: SlotArena) -> ProtobufCAllocator {
    ProtobufCAllocator(
      alloc: { data, size in
        let state = data.unsafelyUnwrapped.assumingMemoryBound(to: SlotArenaState.self)
        guard ArenaAllocator.stackAddress() >= state.pointee.stackFloor else {
          state.pointee.failure = 1
          return nil
        }
        guard let memory = state.pointee.allocate(Int(truncatingIfNeeded: size)) else {
          state.pointee.failure = 2
          return nil
        }
        return memory
      },
      free: { _, _ in },
      allocator_data: UnsafeMutableRawPointer(arena.state))
  }

  /// An address in the current stack frame.
  @inline(__always)
  static func stackAddress() -> UInt {
    withUnsafeTemporaryAllocation(byteCount: 8, alignment: 8) { UInt(bitPattern: $0.baseAddress) }
  }
}
