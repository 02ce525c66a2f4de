/// Bump-allocated memory for the slots of one message at a time.
///
/// Confined to its owner (a decoder or encoder of one loop). `reset` makes all memory free again in one step and keeps one
/// chunk, so a busy loop decodes without calling the system's allocator. Memory comes out of a budget; once that is spent,
/// `allocate` answers nil.
public final class SlotArena {
  /// Fields of this size and above get storage of their own, which ``Bytes`` can share instead of copying.
  @inlinable public static var sharedStorageThreshold: Int { 4096 }
  static let firstChunk = 16 << 10
  static let largestKeptChunk = 256 << 10

  /// The state that accessors reach without reference counting.
  public let state: UnsafeMutablePointer<SlotArenaState>
  private var retired: [UnsafeMutableRawPointer] = []
  private var shared: [BytesStorage] = []
  private var chunk: UnsafeMutableRawPointer
  private var chunkSize = SlotArena.firstChunk

  /// An empty arena.
  public init() {
    chunk = .allocate(byteCount: chunkSize, alignment: 16)
    state = .allocate(capacity: 1)
    state.initialize(to: SlotArenaState(cursor: chunk, end: chunk + chunkSize))
    state.pointee.owner = Unmanaged.passUnretained(self)
  }

  deinit {
    for chunk in retired { chunk.deallocate() }
    chunk.deallocate()
    state.deallocate()
  }

  /// Starts a message with a fresh budget; everything allocated before is gone.
  ///
  /// - Parameter budget: Bytes that may be allocated.
  @inlinable public func reset(budget: Int) {
    if state.pointee.isSpread { collapse() }
    state.pointee.cursor = state.pointee.start
    state.pointee.budget = budget
    state.pointee.bound = 0
    state.pointee.depth = 0
    state.pointee.failure = 0
  }

  /// Gives back what the last message took beyond one chunk.
  @inlinable public func release() {
    if state.pointee.isSpread { collapse() }
  }

  @usableFromInline func collapse() {
    for chunk in retired { chunk.deallocate() }
    retired.removeAll(keepingCapacity: true)
    shared.removeAll(keepingCapacity: true)
    if chunkSize > Self.largestKeptChunk {
      chunk.deallocate()
      chunkSize = Self.largestKeptChunk
      chunk = .allocate(byteCount: chunkSize, alignment: 16)
    }
    state.pointee.start = chunk
    state.pointee.end = chunk + chunkSize
    state.pointee.isSpread = false
  }

  /// Memory that the open chunk has no room for. The budget has been charged already.
  @usableFromInline func allocateSlowly(_ size: Int) -> UnsafeMutableRawPointer {
    state.pointee.isSpread = true
    if size >= Self.sharedStorageThreshold {
      let storage = BytesStorage.make(capacity: size)
      shared.append(storage)
      return UnsafeMutableRawPointer(storage.content)
    }
    retired.append(chunk)
    chunkSize = max(chunkSize * 2, size)
    if chunkSize > 4 << 20 { chunkSize = 4 << 20 }
    chunk = .allocate(byteCount: chunkSize, alignment: 16)
    state.pointee.cursor = chunk + size
    state.pointee.end = chunk + chunkSize
    return chunk
  }
}

/// The part of a ``SlotArena`` that is touched for every field.
public struct SlotArenaState {
  @usableFromInline var cursor: UnsafeMutableRawPointer
  @usableFromInline var end: UnsafeMutableRawPointer
  @usableFromInline var start: UnsafeMutableRawPointer
  @usableFromInline var owner: Unmanaged<SlotArena>?
  @usableFromInline var budget = 0
  /// Whether a message took more than the chunk that is kept.
  public internal(set) var isSpread = false
  /// Bytes that the message being written takes on the wire at most.
  public var bound = 0
  /// How many messages lie around the one being written.
  public var depth = 0
  /// Why writing stopped: 0 not at all, 1 too deep, 2 out of memory.
  public var failure = 0
  /// The lowest stack address that a decoder may reach; 0 for any.
  public var stackFloor: UInt = 0

  init(cursor: UnsafeMutableRawPointer, end: UnsafeMutableRawPointer) {
    self.cursor = cursor
    self.end = end
    start = cursor
  }

  /// Memory for slots, aligned to 8 bytes and not cleared.
  ///
  /// - Returns: Nil once the budget is spent.
  @inlinable public mutating func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
    guard size >= 0, size <= budget else { return nil }
    let rounded = (size + 7) & ~7
    budget -= rounded
    if rounded <= end - cursor, size < SlotArena.sharedStorageThreshold {
      let memory = cursor
      cursor += rounded
      return memory
    }
    return owner.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.allocateSlowly(rounded) }
  }
}
