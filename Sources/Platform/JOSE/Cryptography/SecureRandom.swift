internal import COpenSSL

/// Unpredictable bytes from the system's generator (getrandom).
public enum SecureRandom {
  /// That many fresh bytes, fit for keys, salts and nonces.
  public static func bytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      var word = generator.next()
      for _ in 0..<min(8, count - bytes.count) {
        bytes.append(UInt8(truncatingIfNeeded: word))
        word >>= 8
      }
    }
    return bytes
  }
}

/// Comparison whose duration tells nothing of where two secrets differ.
public enum ConstantTime {
  /// Whether both hold the same bytes. Only the lengths may show in the time taken.
  public static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
  }

  /// Whether both texts have the same UTF-8 bytes. Only the lengths may show in the time taken.
  public static func areEqual(_ left: String, _ right: String) -> Bool { areEqual(Array(left.utf8), Array(right.utf8)) }
}
