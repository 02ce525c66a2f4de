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
    text.withContiguousStorageIfAvailable { decode(UnsafeRawBufferPointer($0)) } ?? Array(text).withUnsafeBytes { decode($0) }
  }

  /// The same, from where the text lies, four characters at a time: recordings come as megabytes of it.
  private func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
    guard text.count % 4 != 1 else { return nil }
    let whole = text.count & ~3
    // Every value has six bits; the two above them are set in what no character stands for.
    var seen: UInt8 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 2) { output, count in
      values.withUnsafeBufferPointer { values in
        var position = 0
        while position < whole {
          let (a, b) = (values[Int(text[position])], values[Int(text[position + 1])])
          let (c, d) = (values[Int(text[position + 2])], values[Int(text[position + 3])])
          seen |= a | b | c | d
          output[count] = a << 2 | b >> 4
          output[count + 1] = b << 4 | c >> 2
          output[count + 2] = c << 6 | d
          count += 3
          position += 4
        }
        guard position < text.count else { return }
        let (a, b) = (values[Int(text[position])], values[Int(text[position + 1])])
        output[count] = a << 2 | b >> 4
        count += 1
        guard position + 2 < text.count else {
          seen |= a | b | (b & 0xf == 0 ? 0 : Self.invalid)
          return
        }
        let c = values[Int(text[position + 2])]
        output[count] = b << 4 | c >> 2
        count += 1
        seen |= a | b | c | (c & 0x3 == 0 ? 0 : Self.invalid)
      }
    }
    return seen & 0xc0 == 0 ? bytes : nil
  }
}
