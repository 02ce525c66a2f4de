/// Decides by its name whether a field holds a secret.
enum SecretName {
  /// Wherever they stand in a name, also run together with other words (`setcookie`, `clientsecret`).
  private static let anywhere = [
    "authorization", "cookie", "secret", "password", "passwd", "passphrase", "assertion", "credential", "apikey", "privatekey",
    "jwt",
  ].map { Array($0.utf8) }
  /// As a word, or at the end of one (`accesstoken`).
  private static let words = ["token", "tokens", "key", "keys", "bearer", "pin", "otp"].map { Array($0.utf8) }
  /// A last word that says that the field only describes the secret.
  private static let descriptions = [
    "id", "ids", "type", "count", "length", "size", "age", "kind", "name", "file", "path", "expires", "seconds", "missing", "uri",
    "url",
    "version", "state", "error",
  ].map { Array($0.utf8) }

  static func isSecret(_ name: some RandomAccessCollection<UInt8>) -> Bool {
    let parts = split(name)
    guard let last = parts.last else { return false }
    let flat = Array(parts.joined())
    let isSecret =
      anywhere.contains { contains(flat, $0) }
      || parts.contains { part in
        words.contains(part)
          || words[..<4].contains { part.count > $0.count && part.suffix($0.count).elementsEqual($0) && part != Self.monkey }
      }
    return isSecret && !(parts.count > 1 && descriptions.contains(last))
  }

  /// The one common word that ends in `key` and names none.
  private static let monkey = Array("monkey".utf8)

  /// The words of a name in lower case: `accessToken`, `access-token` and `ACCESS_TOKEN` have the same two.
  private static func split(_ name: some RandomAccessCollection<UInt8>) -> [[UInt8]] {
    var parts: [[UInt8]] = []
    var part: [UInt8] = []
    var previousIsLower = false
    for byte in name {
      let isUpper = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
      let isWord =
        isUpper || (byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z"))
        || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"))
      if !part.isEmpty, !isWord || (isUpper && previousIsLower) {
        parts.append(part)
        part = []
      }
      if isWord { part.append(isUpper ? byte | 0x20 : byte) }
      previousIsLower = isWord && !isUpper
    }
    if !part.isEmpty { parts.append(part) }
    return parts
  }

  private static func contains(_ text: [UInt8], _ word: [UInt8]) -> Bool {
    guard text.count >= word.count else { return false }
    return (0...(text.count - word.count)).contains { text[$0...].starts(with: word) }
  }
}
