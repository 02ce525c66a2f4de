/// The encoding of `grpc-message`: UTF-8 in which everything but printable ASCII and `%` stands as `%XX`.
public enum PercentEncoding {
  /// Encodes a status message.
  public static func encode(_ text: String) -> String {
    guard text.utf8.contains(where: { !isPlain($0) }) else { return text }
    return String(decoding: escaped(text.utf8, unless: isPlain), as: UTF8.self)
  }

  /// Decodes a status message. Never fails: what is no escape stays as it is, and bad UTF-8 is repaired.
  public static func decode(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: unescaped(Array(bytes), plus: UInt8(ascii: "+")), as: UTF8.self)
  }

  private static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte <= 0x7e && byte != UInt8(ascii: "%") }

  /// The bytes, those that are not plain as `%XX`.
  @inlinable
  package static func escaped(_ bytes: some Collection<UInt8>, unless isPlain: (UInt8) -> Bool) -> [UInt8] {
    var escaped: [UInt8] = []
    escaped.reserveCapacity(bytes.count * 2)
    for byte in bytes {
      if isPlain(byte) {
        escaped.append(byte)
      } else {
        escaped.append(UInt8(ascii: "%"))
        escaped.append(hexadecimal(byte >> 4))
        escaped.append(hexadecimal(byte & 15))
      }
    }
    return escaped
  }

  /// The bytes that were escaped; `plus` is what a plus stands for. What is no escape stays as it is.
  @inlinable
  package static func unescaped<Text: RandomAccessCollection<UInt8>>(_ text: Text, plus: UInt8) -> [UInt8]
  where Text.Index == Int {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var index = text.startIndex
    while index < text.endIndex {
      let byte = text[index]
      if byte == UInt8(ascii: "%"), index + 2 < text.endIndex, let high = digit(text[index + 1]), let low = digit(text[index + 2])
      {
        bytes.append(high << 4 | low)
        index += 3
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? plus : byte)
        index += 1
      }
    }
    return bytes
  }

  /// The character of four bits.
  @inlinable
  package static func hexadecimal(_ digit: UInt8) -> UInt8 { digit < 10 ? 0x30 + digit : 0x41 + digit - 10 }

  /// The four bits of a character; nil when it is no hexadecimal digit.
  @inlinable
  package static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }
}
