/// Base64url without padding (RFC 7515 section 2), read strictly: a text that another spelling of the same bytes would
/// match is refused, so a token has exactly one form.
public enum Base64URL {
  /// The canonical text of the bytes.
  public static func encode(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: Base64Alphabet.url.encode(bytes), as: UTF8.self)
  }

  /// The bytes of a canonical text; nil for padding, white space, `+`, `/`, other characters, an impossible length and
  /// bits left over that are not zero.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? { Base64Alphabet.url.decode(text) }

  /// The bytes of a canonical text, or nil.
  public static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }
}

/// Base64 with padding (RFC 4648 section 4), read as strictly.
public enum Base64 {
  /// The canonical text of the bytes.
  public static func encode(_ bytes: some Collection<UInt8>) -> String {
    var text = Base64Alphabet.standard.encode(bytes)
    while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
    return String(decoding: text, as: UTF8.self)
  }

  /// The bytes of a canonical text with its padding, or nil.
  public static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }

  /// The bytes of a canonical text with its padding, or nil. Of a text in one piece nothing is copied.
  public static func decode(_ text: some BidirectionalCollection<UInt8>) -> [UInt8]? {
    guard text.count % 4 == 0 else { return nil }
    let padding = text.suffix(3).reversed().prefix { $0 == UInt8(ascii: "=") }.count
    return padding <= 2 ? Base64Alphabet.standard.decode(text.dropLast(padding)) : nil
  }
}
