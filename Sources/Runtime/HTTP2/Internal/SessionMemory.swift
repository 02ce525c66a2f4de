internal import CNghttp2
internal import Glibc

/// The allocator of one loop's nghttp2 sessions: free lists by size class, without locks.
///
/// nghttp2 makes and frees the same few sizes for every stream; taking them from a list saves a twentieth of an RPC's
/// instructions. Confined to its loop, like every session that uses it.
final class SessionMemory {
  /// What nghttp2 is given; lives as long as this object.
  let interface: UnsafeMutablePointer<nghttp2_mem>
  private let lists: UnsafeMutablePointer<FreeList>

  init() {
    lists = .allocate(capacity: FreeList.classes)
    lists.initialize(repeating: FreeList(), count: FreeList.classes)
    interface = .allocate(capacity: 1)
    interface.initialize(
      to: nghttp2_mem(
        mem_user_data: lists,
        malloc: { size, lists in FreeList.allocate(size, FreeList.from(lists)) },
        free: { block, lists in FreeList.free(block, FreeList.from(lists)) },
        calloc: { count, size, lists in
          let (total, overflow) = count.multipliedReportingOverflow(by: size)
          guard !overflow, let block = FreeList.allocate(total, FreeList.from(lists)) else { return nil }
          memset(block, 0, total)
          return block
        },
        realloc: { block, size, lists in FreeList.reallocate(block, size, FreeList.from(lists)) }))
  }

  deinit {
    for sizeClass in 0..<FreeList.classes { lists[sizeClass].freeAll() }
    lists.deallocate()
    interface.deallocate()
  }
}

/// The free blocks of one size class. All are reached from nghttp2 by the address of the first, so that no call counts references.
private struct FreeList {
  /// Blocks carry their class in front of them; 16 bytes keep what follows aligned.
  private static let headerBytes = 16
  private static let smallestShift = 5
  /// Up to 1,024 bytes: what a stream needs. The few larger blocks belong to a connection, which would pay for being rounded up
  /// as long as it lives.
  static let classes = 6
  /// Free blocks kept per class, so that a burst does not stay allocated for ever.
  private static let keptPerClass = 4_096

  private var head: UnsafeMutableRawPointer?
  private var count = 0

  @inline(__always)
  static func from(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<FreeList> {
    pointer.unsafelyUnwrapped.assumingMemoryBound(to: FreeList.self)
  }

  mutating func freeAll() {
    while let block = head {
      head = block.load(as: UnsafeMutableRawPointer?.self)
      Glibc.free(block)
    }
  }

  /// The class that holds `total` bytes, or one past the last for what the system's allocator serves.
  @inline(__always)
  private static func sizeClass(_ total: Int) -> Int {
    // The low bits make everything small one class.
    let shift = Int.bitWidth &- ((total &- 1) | (1 << smallestShift - 1)).leadingZeroBitCount
    return shift &- smallestShift
  }

  @inline(__always)
  static func allocate(_ size: Int, _ lists: UnsafeMutablePointer<FreeList>) -> UnsafeMutableRawPointer? {
    let sizeClass = sizeClass(size &+ headerBytes)
    if sizeClass < classes, let block = lists[sizeClass].head {
      lists[sizeClass].head = block.load(as: UnsafeMutableRawPointer?.self)
      lists[sizeClass].count &-= 1
      block.storeBytes(of: sizeClass, as: Int.self)
      return block + headerBytes
    }
    return allocateNew(size, sizeClass)
  }

  private static func allocateNew(_ size: Int, _ sizeClass: Int) -> UnsafeMutableRawPointer? {
    let (total, overflow) = size.addingReportingOverflow(headerBytes)
    guard !overflow, let block = malloc(sizeClass < classes ? 1 << (sizeClass + smallestShift) : total) else { return nil }
    block.storeBytes(of: sizeClass, as: Int.self)
    return block + headerBytes
  }

  @inline(__always)
  static func free(_ pointer: UnsafeMutableRawPointer?, _ lists: UnsafeMutablePointer<FreeList>) {
    guard let pointer else { return }
    let block = pointer - headerBytes
    let sizeClass = block.load(as: Int.self)
    guard sizeClass < classes, lists[sizeClass].count < keptPerClass else { return Glibc.free(block) }
    block.storeBytes(of: lists[sizeClass].head, as: UnsafeMutableRawPointer?.self)
    lists[sizeClass].head = block
    lists[sizeClass].count &+= 1
  }

  static func reallocate(
    _ pointer: UnsafeMutableRawPointer?, _ size: Int, _ lists: UnsafeMutablePointer<FreeList>
  ) -> UnsafeMutableRawPointer? {
    guard let pointer else { return allocate(size, lists) }
    let block = pointer - headerBytes
    let sizeClass = block.load(as: Int.self)
    guard sizeClass < classes else {
      // A block of the system's allocator stays one, whatever its new size.
      guard let moved = realloc(block, size + headerBytes) else { return nil }
      return moved + headerBytes
    }
    let room = 1 << (sizeClass + smallestShift) - headerBytes
    if size <= room { return pointer }
    guard let larger = allocate(size, lists) else { return nil }
    memcpy(larger, pointer, room)
    free(pointer, lists)
    return larger
  }
}
