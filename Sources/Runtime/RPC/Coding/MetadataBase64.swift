/// Base64 as binary metadata uses it: the standard alphabet, sent without padding, read with or without it.
public enum MetadataBase64 {
  /// Encodes without padding.
  public static func encode(_ bytes: some Collection<UInt8>) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    var buffer: UInt32 = 0
    var bits = 0
    for byte in bytes {
      buffer = buffer << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        text.append(alphabet[Int(buffer >> UInt32(bits) & 63)])
      }
    }
    if bits > 0 { text.append(alphabet[Int(buffer << UInt32(6 - bits) & 63)]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Decodes; nil when a character is none of the alphabet or the length is impossible.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    var characters = Array(text)
    if characters.count % 4 == 0 { while characters.last == UInt8(ascii: "=") { characters.removeLast() } }
    guard characters.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(characters.count * 3 / 4)
    var buffer: UInt32 = 0
    var bits = 0
    for character in characters {
      guard let value = value(character) else { return nil }
      buffer = buffer << 6 | value
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
      }
    }
    return bytes
  }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  private static func value(_ character: UInt8) -> UInt32? {
    switch character {
    case 0x41...0x5a: UInt32(character) - 0x41
    case 0x61...0x7a: UInt32(character) - 0x61 + 26
    case 0x30...0x39: UInt32(character) - 0x30 + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
