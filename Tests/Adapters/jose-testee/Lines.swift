import Glibc

/// The lines of a descriptor as bytes, each as soon as it is whole.
struct Lines {
  private let descriptor: CInt
  private var pending: [UInt8] = []
  private var searched = 0
  private var isAtEnd = false

  init(of descriptor: CInt) { self.descriptor = descriptor }

  /// The next line without its end, or nil after the last.
  mutating func next() -> [UInt8]? {
    while true {
      if let end = pending[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer {
          pending.removeSubrange(...end)
          searched = 0
        }
        return Array(pending[..<end])
      }
      searched = pending.count
      guard !isAtEnd else {
        guard !pending.isEmpty else { return nil }
        defer { (pending, searched) = ([], 0) }
        return pending
      }
      fill()
    }
  }

  private mutating func fill() {
    let chunk = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, filled in
      var count = 0
      repeat { count = read(descriptor, buffer.baseAddress, buffer.count) } while count < 0 && errno == EINTR
      filled = max(count, 0)
    }
    isAtEnd = chunk.isEmpty
    pending += chunk
  }
}
