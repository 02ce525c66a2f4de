internal import CNghttp2
internal import Glibc

/// The allocator of one loop's nghttp2 sessions: free lists by size class, without locks.
///
/// nghttp2 makes and frees the same few sizes for every stream; taking them from a list saves a twentieth of an RPC's
/// instructions. Confined to its loop, like every session that uses it.
final class SessionMemory {
  /// What nghttp2 is given; lives as long as this object.
  let interface: UnsafeMutablePointer<nghttp2_mem>
  private let lists: UnsafeMutablePointer<FreeLists>

  init() {
    lists = .allocate(capacity: 1)
    lists.initialize(to: FreeLists())
    interface = .allocate(capacity: 1)
    interface.initialize(
      to: nghttp2_mem(
        mem_user_data: lists,
        malloc: { size, lists in FreeLists.from(lists).pointee.allocate(size) },
        free: { block, lists in FreeLists.from(lists).pointee.free(block) },
        calloc: { count, size, lists in
          let (total, overflow) = count.multipliedReportingOverflow(by: size)
          guard !overflow, let block = FreeLists.from(lists).pointee.allocate(total) else { return nil }
          memset(block, 0, total)
          return block
        },
        realloc: { block, size, lists in FreeLists.from(lists).pointee.reallocate(block, size) }))
  }

  deinit {
    lists.pointee.freeAll()
    lists.deallocate()
    interface.deallocate()
  }
}

/// Free blocks by size class. Reached from nghttp2 by its address, so that no call counts references.
private struct FreeLists {
  /// Blocks carry their class in front of them; 16 bytes keep what follows aligned.
  private static let headerBytes = 16
  private static let smallestShift = 5
  private static let classes = 9
  /// Free blocks kept per class, so that a burst does not stay allocated for ever.
  private static let keptPerClass = 4_096

  private let heads: UnsafeMutablePointer<UnsafeMutableRawPointer?>
  private let counts: UnsafeMutablePointer<Int>

  init() {
    heads = .allocate(capacity: Self.classes)
    heads.initialize(repeating: nil, count: Self.classes)
    counts = .allocate(capacity: Self.classes)
    counts.initialize(repeating: 0, count: Self.classes)
  }

  @inline(__always)
  static func from(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<FreeLists> {
    pointer.unsafelyUnwrapped.assumingMemoryBound(to: FreeLists.self)
  }

  func freeAll() {
    for index in 0..<Self.classes {
      while let block = heads[index] {
        heads[index] = block.load(as: UnsafeMutableRawPointer?.self)
        Glibc.free(block)
      }
    }
    heads.deallocate()
    counts.deallocate()
  }

  /// The class that holds `total` bytes, or one past the last for what the system's allocator serves.
  @inline(__always)
  private static func sizeClass(_ total: Int) -> Int {
    let shift = Int.bitWidth - (total - 1).leadingZeroBitCount
    return max(0, shift - smallestShift)
  }

  func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
    let total = size + Self.headerBytes
    let sizeClass = Self.sizeClass(total)
    if sizeClass < Self.classes, let block = heads[sizeClass] {
      heads[sizeClass] = block.load(as: UnsafeMutableRawPointer?.self)
      counts[sizeClass] -= 1
      block.storeBytes(of: sizeClass, as: Int.self)
      return block + Self.headerBytes
    }
    guard let block = malloc(sizeClass < Self.classes ? 1 << (sizeClass + Self.smallestShift) : total) else { return nil }
    block.storeBytes(of: sizeClass, as: Int.self)
    return block + Self.headerBytes
  }

  func free(_ pointer: UnsafeMutableRawPointer?) {
    guard let pointer else { return }
    let block = pointer - Self.headerBytes
    let sizeClass = block.load(as: Int.self)
    guard sizeClass < Self.classes, counts[sizeClass] < Self.keptPerClass else { return Glibc.free(block) }
    block.storeBytes(of: heads[sizeClass], as: UnsafeMutableRawPointer?.self)
    heads[sizeClass] = block
    counts[sizeClass] += 1
  }

  func reallocate(_ pointer: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer? {
    guard let pointer else { return allocate(size) }
    let block = pointer - Self.headerBytes
    let sizeClass = block.load(as: Int.self)
    guard sizeClass < Self.classes else {
      // A block of the system's allocator stays one, whatever its new size.
      guard let moved = realloc(block, size + Self.headerBytes) else { return nil }
      return moved + Self.headerBytes
    }
    let room = 1 << (sizeClass + Self.smallestShift) - Self.headerBytes
    if size <= room { return pointer }
    guard let larger = allocate(size) else { return nil }
    memcpy(larger, pointer, room)
    free(pointer)
    return larger
  }
}
