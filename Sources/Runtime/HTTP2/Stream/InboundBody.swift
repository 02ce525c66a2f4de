internal import Buffers

/// The bytes that a peer has sent on a stream and that nobody has taken yet, in one run of memory.
///
/// As long as they all lie in the connection's read buffer they are only borrowed from it: a request that arrived whole is
/// decoded where the socket put it. What is left when the connection has fed its input is copied.
package final class InboundBody {
  private var borrowed = UnsafeRawBufferPointer(start: nil, count: 0)
  private var owned: ByteBuffer?
  private static let keptBytes = 16 << 10

  /// All bytes; valid until the next change, and at most until the current callback returns.
  package var bytes: UnsafeRawBufferPointer { owned.map { $0.isEmpty ? borrowed : $0.bytes } ?? borrowed }

  /// How many bytes there are.
  package var count: Int { borrowed.count + (owned?.count ?? 0) }

  /// Adds bytes that stay where they are until ``own()`` is called.
  ///
  /// - Returns: Whether the bytes are borrowed, so that ``own()`` must be called before their memory is used again.
  func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if count == 0 {
      borrowed = bytes
      return true
    }
    own()
    owned?.append(bytes)
    return false
  }

  /// Copies what is only borrowed.
  func own() {
    guard borrowed.count > 0 else { return }
    let buffer = owned ?? ByteBuffer(capacity: max(borrowed.count * 2, 1_024))
    owned = buffer
    buffer.append(borrowed)
    borrowed = .init(start: nil, count: 0)
  }

  /// Makes room for a message of known size, so that it grows once.
  package func reserve(_ count: Int) {
    let buffer = owned ?? ByteBuffer(capacity: count)
    owned = buffer
    own()
    _ = buffer.reserve(max(0, count - buffer.count))
  }

  /// Forgets bytes from the front; the peer's window is not opened by it.
  package func removeFirst(_ count: Int) {
    if borrowed.count > 0 {
      borrowed = UnsafeRawBufferPointer(rebasing: borrowed[count...])
    } else {
      owned?.removeFirst(count)
    }
  }

  func reset() {
    borrowed = .init(start: nil, count: 0)
    owned?.reset(keeping: Self.keptBytes)
  }
}
