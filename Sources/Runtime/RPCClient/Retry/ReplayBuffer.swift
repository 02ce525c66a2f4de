internal import Buffers

/// What a streamed call has sent, in the form of its wire, for as long as another attempt may have to send it again.
///
/// Given up once it would hold more than its limit, or when the response has begun. Confined to its loop.
final class ReplayBuffer {
  private let limit: Int
  private var buffer: ByteBuffer?
  /// Whether all that was sent is here.
  private(set) var isComplete = true

  init(limit: Int) { self.limit = limit }

  /// All that was sent.
  var bytes: UnsafeRawBufferPointer { buffer?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0) }

  /// Keeps what has just been sent.
  func append(_ bytes: UnsafeRawBufferPointer) {
    guard isComplete else { return }
    guard self.bytes.count + bytes.count <= limit else { return discard() }
    let buffer = buffer ?? ByteBuffer(capacity: max(bytes.count, 256))
    self.buffer = buffer
    buffer.append(bytes)
  }

  /// Gives it up: the attempt under way is the last.
  func discard() {
    isComplete = false
    buffer = nil
  }
}
