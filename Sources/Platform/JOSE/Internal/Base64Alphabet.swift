/// One of the two base64 alphabets of RFC 4648, with the strict coding they share: only the alphabet's characters, only
/// zero bits behind the last byte, so that each byte sequence has exactly one spelling.
struct Base64Alphabet: Sendable {
  static let standard = Base64Alphabet(last: (UInt8(ascii: "+"), UInt8(ascii: "/")))
  static let url = Base64Alphabet(last: (UInt8(ascii: "-"), UInt8(ascii: "_")))

  private static let invalid: UInt8 = 0xFF
  private let characters: [UInt8]
  private let values: [UInt8]

  private init(last: (UInt8, UInt8)) {
    characters =
      Array(UInt8(ascii: "A")...UInt8(ascii: "Z")) + Array(UInt8(ascii: "a")...UInt8(ascii: "z"))
      + Array(UInt8(ascii: "0")...UInt8(ascii: "9")) + [last.0, last.1]
    var values = [UInt8](repeating: Self.invalid, count: 256)
    for (value, character) in characters.enumerated() { values[Int(character)] = UInt8(value) }
    self.values = values
  }

  /// The text without padding.
  func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    var bits: UInt32 = 0
    var bitCount = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      bitCount += 8
      while bitCount >= 6 {
        bitCount -= 6
        text.append(characters[Int(bits >> UInt32(bitCount) & 0x3F)])
      }
    }
    if bitCount > 0 { text.append(characters[Int(bits << UInt32(6 - bitCount) & 0x3F)]) }
    return text
  }

  /// The bytes that a text without padding stands for; nil if it is not canonical.
  func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    var bits: UInt32 = 0
    var bitCount = 0
    for character in text {
      let value = values[Int(character)]
      guard value != Self.invalid else { return nil }
      bits = bits << 6 | UInt32(value)
      bitCount += 6
      if bitCount >= 8 {
        bitCount -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
      }
    }
    return bits & (1 << UInt32(bitCount) - 1) == 0 ? bytes : nil
  }
}
