internal import Glibc

/// Looks for bytes within bytes.
enum ByteSearch {
  /// Where `pattern` begins first, at `start` or later; nil when it does not occur. An empty pattern occurs nowhere.
  static func first(_ pattern: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
    guard let lead = pattern.first, start >= 0 else { return nil }
    return bytes.withUnsafeBytes { bytes in
      pattern.withUnsafeBytes { pattern in
        guard let first = bytes.baseAddress, let wanted = pattern.baseAddress else { return nil }
        var position = start
        while position + pattern.count <= bytes.count {
          guard let found = memchr(first + position, Int32(lead), bytes.count - pattern.count + 1 - position) else { return nil }
          position = first.distance(to: UnsafeRawPointer(found))
          if memcmp(found, wanted, pattern.count) == 0 { return position }
          position += 1
        }
        return nil
      }
    }
  }
}
