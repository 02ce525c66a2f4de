import JOSE
import JSON

/// The text of a public RSA key as programs pass it around: SubjectPublicKeyInfo (RFC 5280, section 4.1) in PEM.
enum PublicKeyPEM {
  /// rsaEncryption, 1.2.840.113549.1.1.1, with its NULL parameters.
  private static let algorithm: [UInt8] = [
    0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
  ]

  /// The PEM of an RSA key; empty for any other.
  static func encode(_ key: VerificationKey) -> String {
    guard let modulus = key.jwk["n"]?.string.flatMap(Base64URL.decode),
      let exponent = key.jwk["e"]?.string.flatMap(Base64URL.decode)
    else { return "" }
    let numbers = element(0x30, integer(modulus) + integer(exponent))
    let info = element(0x30, algorithm + element(0x03, [0] + numbers))
    let text = Array(Base64.encode(info))
    let lines = stride(from: 0, to: text.count, by: 64).map { String(text[$0..<min($0 + 64, text.count)]) }
    return (["-----BEGIN PUBLIC KEY-----"] + lines + ["-----END PUBLIC KEY-----", ""]).joined(separator: "\n")
  }

  /// A positive number: a leading bit that is set would mean a negative one.
  private static func integer(_ bytes: [UInt8]) -> [UInt8] {
    element(0x02, (bytes.first ?? 0) >= 0x80 ? [0] + bytes : bytes)
  }

  private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    var length: [UInt8] = [UInt8(truncatingIfNeeded: content.count)]
    if content.count >= 0x80 {
      let bytes = withUnsafeBytes(of: content.count.bigEndian) { Array($0.drop { $0 == 0 }) }
      length = [0x80 | UInt8(bytes.count)] + bytes
    }
    return [tag] + length + content
  }
}
