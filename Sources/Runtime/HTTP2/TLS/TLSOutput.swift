internal import CShims
internal import Glibc

/// Ciphertext on its way to the peer: a growing buffer that engines append to and the connection's owner writes to the socket.
///
/// One per loop serves all its connections: it is lent to an engine for one call, and what the socket does not take goes to a
/// buffer of the connection before the next connection's turn. Confined to the loop.
package final class TLSOutput {
  let raw: UnsafeMutablePointer<parley_tls_output>

  /// An empty buffer; the first append allocates.
  package init() {
    raw = .allocate(capacity: 1)
    raw.initialize(to: parley_tls_output())
  }

  deinit {
    free(raw.pointee.bytes)
    raw.deallocate()
  }

  /// Bytes that wait. Valid until the next call that takes this buffer.
  @inline(__always)
  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: raw.pointee.bytes, count: raw.pointee.count) }

  /// How many bytes wait.
  @inline(__always)
  package var count: Int { raw.pointee.count }

  /// Whether nothing waits.
  @inline(__always)
  package var isEmpty: Bool { raw.pointee.count == 0 }

  /// Forgets all waiting bytes and keeps the memory, up to `retaining` bytes of it.
  package func removeAll(retaining: Int = 512 << 10) {
    raw.pointee.count = 0
    guard raw.pointee.capacity > retaining else { return }
    free(raw.pointee.bytes)
    raw.pointee = parley_tls_output()
  }

  /// Forgets the first `count` waiting bytes, which the socket took.
  package func removeFirst(_ count: Int) {
    precondition(count >= 0 && count <= raw.pointee.count, "more bytes removed than wait")
    let left = raw.pointee.count - count
    if left > 0 { memmove(raw.pointee.bytes, raw.pointee.bytes + count, left) }
    raw.pointee.count = left
  }
}
