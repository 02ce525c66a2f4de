import Glibc

/// Messages over a pair of descriptors, each behind its length in four bytes, little-endian.
struct LengthPrefixedPipe {
  /// What ends the conversation before its time.
  enum Failure: Error {
    /// The input ends inside a message.
    case endsInsideMessage
    /// A descriptor failed, with the number of the error.
    case system(CInt)
  }

  let input: CInt
  let output: CInt

  /// The next message, or nil at the end of the input.
  func read() throws(Failure) -> [UInt8]? {
    guard let head = try read(4, mayEnd: true) else { return nil }
    let count = head.enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
    return try read(count, mayEnd: false)
  }

  func write(_ message: [UInt8]) throws(Failure) {
    let count = message.count
    let bytes = (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } + message
    var written = 0
    while written < bytes.count {
      let step = bytes[written...].withUnsafeBytes { Glibc.write(output, $0.baseAddress, $0.count) }
      if step < 0, errno == EINTR { continue }
      guard step > 0 else { throw .system(errno) }
      written += step
    }
  }

  private func read(_ count: Int, mayEnd: Bool) throws(Failure) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let step = bytes[filled...].withUnsafeMutableBytes { Glibc.read(input, $0.baseAddress, $0.count) }
      if step < 0, errno == EINTR { continue }
      guard step >= 0 else { throw .system(errno) }
      guard step > 0 else {
        guard mayEnd, filled == 0 else { throw .endsInsideMessage }
        return nil
      }
      filled += step
    }
    return bytes
  }
}
