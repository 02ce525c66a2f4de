/// Bytes as pairs of hexadecimal digits in lower case, the only form that is read.
public enum Hexadecimal {
  /// The bytes as twice as many digits.
  public static func text(_ bytes: some Collection<UInt8>) -> String {
    let digits = StaticString("0123456789abcdef").utf8Start
    return String(unsafeUninitializedCapacity: bytes.count * 2) { text in
      var place = 0
      for byte in bytes {
        text[place] = digits[Int(byte >> 4)]
        text[place + 1] = digits[Int(byte & 15)]
        place += 2
      }
      return place
    }
  }

  /// The bytes of a text; nil unless it is pairs of digits in lower case and nothing else.
  public static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    guard text.utf8.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count / 2)
    var digits = text.utf8.makeIterator()
    while let first = digits.next(), let second = digits.next() {
      guard let high = value(first), let low = value(second) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
