/// The little DER (X.690) that keys and ECDSA signatures need.
enum DER {
  private static let integerTag: UInt8 = 0x02
  private static let bitStringTag: UInt8 = 0x03
  private static let sequenceTag: UInt8 = 0x30
  /// AlgorithmIdentifier { rsaEncryption, NULL } (RFC 8017 appendix A).
  private static let rsaEncryption: [UInt8] = [
    0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
  ]
  /// AlgorithmIdentifier { id-ecPublicKey, prime256v1 } (RFC 5480).
  private static let prime256v1: [UInt8] = [
    0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07,
  ]

  /// SubjectPublicKeyInfo of an RSA key, from big-endian numbers.
  static func rsaPublicKey(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
    let key = element(sequenceTag, integer(modulus) + integer(exponent))
    return element(sequenceTag, rsaEncryption + element(bitStringTag, [0] + key))
  }

  /// SubjectPublicKeyInfo of a P-256 key, from coordinates of 32 bytes.
  static func p256PublicKey(x: [UInt8], y: [UInt8]) -> [UInt8] {
    element(sequenceTag, prime256v1 + element(bitStringTag, [0, 4] + x + y))
  }

  /// ECDSA-Sig-Value from `r || s`, 32 bytes each (RFC 7518 section 3.4).
  static func ecdsaSignature(fromConcatenation signature: [UInt8]) -> [UInt8] {
    element(sequenceTag, integer(Array(signature[..<32])) + integer(Array(signature[32...])))
  }

  /// `r || s`, 32 bytes each, from the ECDSA-Sig-Value that OpenSSL wrote for a P-256 key; nil if it is none.
  static func ecdsaConcatenation(fromSignature der: [UInt8]) -> [UInt8]? {
    // r and s take at most 33 bytes each, so every length is a single byte.
    guard der.count >= 2, der[0] == sequenceTag, Int(der[1]) == der.count - 2 else { return nil }
    var rest = der[2...]
    var concatenation: [UInt8] = []
    for _ in 0..<2 {
      guard rest.count >= 2, rest.removeFirst() == integerTag else { return nil }
      let length = Int(rest.removeFirst())
      guard length >= 1, length <= rest.count else { return nil }
      let digits = rest.prefix(length).drop { $0 == 0 }
      guard digits.count <= 32 else { return nil }
      concatenation += [UInt8](repeating: 0, count: 32 - digits.count) + digits
      rest = rest.dropFirst(length)
    }
    return rest.isEmpty ? concatenation : nil
  }

  /// A non-negative INTEGER: as short as possible, with a zero byte where the first bit would read as a sign.
  private static func integer(_ bytes: [UInt8]) -> [UInt8] {
    let digits = Array(bytes.drop { $0 == 0 })
    guard let first = digits.first else { return element(integerTag, [0]) }
    return element(integerTag, first >= 0x80 ? [0] + digits : digits)
  }

  private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
    var length: [UInt8] = []
    var rest = content.count
    while rest > 0 {
      length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
      rest >>= 8
    }
    return [tag, 0x80 | UInt8(length.count)] + length + content
  }
}
