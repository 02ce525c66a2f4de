internal import CShims
internal import Glibc

/// Tells a thread that waits for descriptors that nobody waits for it any more.
final class Cancellation: Sendable {
  /// Readable once it is cancelled; -1 when the system gave none, and then it cannot be.
  let descriptor = parley_make_eventfd()

  deinit { if descriptor >= 0 { close(descriptor) } }

  func cancel() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
  }
}
