internal import Buffers

/// The bytes that a peer has sent on a stream and that nobody has taken yet, in one run of memory.
///
/// As long as they all lie in the connection's read buffer they are only borrowed from it: a request that arrived whole is
/// decoded where the socket put it. What is left when the connection has fed its input is copied.
package final class InboundBody {
  /// All bytes; valid until the next change, and at most until the current callback returns.
  package private(set) var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
  private var isBorrowed = false
  private var owned: ByteBuffer?
  /// What was taken of ``bytes`` and still is in `owned`: told when bytes are added, not with each message.
  private var taken = 0
  private static let keptBytes = 16 << 10

  /// How many bytes there are.
  package var count: Int { bytes.count }

  /// Adds bytes that stay where they are until ``own()`` is called.
  ///
  /// - Returns: Whether the bytes are borrowed, so that ``own()`` must be called before their memory is used again.
  func append(_ more: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count > 0 else {
      bytes = more
      isBorrowed = true
      return true
    }
    own()
    let buffer = settled()
    buffer.append(more)
    bytes = buffer.bytes
    return false
  }

  /// Copies what is only borrowed.
  func own() {
    guard isBorrowed else { return }
    isBorrowed = false
    guard bytes.count > 0 else { return }
    let buffer = owned ?? ByteBuffer(capacity: max(bytes.count * 2, 1_024))
    owned = buffer
    taken = 0
    buffer.removeFirst(buffer.count)
    buffer.append(bytes)
    bytes = buffer.bytes
  }

  /// Makes room for a message of known size, so that it grows once.
  package func reserve(_ count: Int) {
    if owned == nil { owned = ByteBuffer(capacity: count) }
    own()
    let buffer = settled()
    _ = buffer.reserve(max(0, count - buffer.count))
    bytes = buffer.bytes
  }

  /// Forgets bytes from the front; the peer's window is not opened by it.
  @inline(__always)
  package func removeFirst(_ count: Int) {
    bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
    taken += count
  }

  func reset() {
    bytes = .init(start: nil, count: 0)
    isBorrowed = false
    taken = 0
    owned?.reset(keeping: Self.keptBytes)
  }

  /// The buffer, with nothing in it but ``bytes``.
  private func settled() -> ByteBuffer {
    let buffer = owned ?? ByteBuffer(capacity: 1_024)
    owned = buffer
    buffer.removeFirst(bytes.count == 0 ? buffer.count : taken)
    taken = 0
    return buffer
  }
}
