/// Walks over text once and notes the ranges that look like secrets.
struct SecretScanner {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var output: [UInt8] = []
  private var copied = 0
  private var isChanged = false

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  /// The text with every secret replaced, or nil when it has none.
  mutating func redacted() -> String? {
    var index = 0
    while index < bytes.count {
      guard let secret = secret(at: index) else {
        index += 1
        continue
      }
      isChanged = true
      output.append(contentsOf: bytes[copied..<secret.lowerBound])
      output.append(contentsOf: Redactor.mark.utf8)
      copied = secret.upperBound
      index = max(secret.upperBound, index + 1)
    }
    guard isChanged else { return nil }
    output.append(contentsOf: bytes[copied...])
    return String(decoding: output, as: UTF8.self)
  }

  /// The secret that is announced by the byte at `index`: it starts there or behind.
  private func secret(at index: Int) -> Range<Int>? {
    switch bytes[index] {
    case UInt8(ascii: "e"): return jwt(at: index)
    case UInt8(ascii: "y"): return token(at: index, "ya29.", atLeast: 1)
    case UInt8(ascii: "1"): return token(at: index, "1//0", atLeast: 16)
    case UInt8(ascii: "A"): return token(at: index, "AIza", atLeast: 30)
    case UInt8(ascii: "G"): return token(at: index, "GOCSPX-", atLeast: 8)
    case UInt8(ascii: "s"):
      return isWordStart(index) ? token(at: index, "sk-", atLeast: 16) ?? token(at: index, "sk_", atLeast: 16) : nil
    case UInt8(ascii: "B"), UInt8(ascii: "b"):
      return credentials(at: index, "bearer", atLeast: 1) ?? credentials(at: index, "basic", atLeast: 12)
    case UInt8(ascii: "-"): return pem(at: index)
    case UInt8(ascii: ":"), UInt8(ascii: "="): return namedValue(behind: index)
    default: return nil
    }
  }

  /// Three base64url parts, or one long one: a header alone tells who signed, and a cut token is still most of a token.
  private func jwt(at index: Int) -> Range<Int>? {
    guard starts(with: "eyJ", at: index) else { return nil }
    let part = end(of: index, while: Self.isBase64URL)
    let whole = end(of: index) { Self.isBase64URL($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "=") }
    let dots = bytes[index..<whole].count { $0 == UInt8(ascii: ".") }
    return part - index >= 20 || dots >= 2 ? index..<whole : nil
  }

  private func token(at index: Int, _ prefix: StaticString, atLeast least: Int) -> Range<Int>? {
    guard starts(with: prefix, at: index) else { return nil }
    let start = index + prefix.utf8CodeUnitCount
    let end = end(of: start) { Self.isBase64URL($0) || $0 == UInt8(ascii: ".") }
    return end - start >= least ? index..<end : nil
  }

  /// What follows the name of an authentication scheme (RFC 9110, 11.4).
  private func credentials(at index: Int, _ scheme: StaticString, atLeast least: Int) -> Range<Int>? {
    guard isWordStart(index), starts(with: scheme, at: index, ignoringCase: true) else { return nil }
    let blank = index + scheme.utf8CodeUnitCount
    let start = end(of: blank) { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "+") }
    let end = end(of: start) { Self.isBase64URL($0) || ".~+/=%".utf8.contains($0) }
    return start > blank && end - start >= least ? start..<end : nil
  }

  private func pem(at index: Int) -> Range<Int>? {
    guard starts(with: "-----BEGIN ", at: index) else { return nil }
    var position = index + 11
    while position < bytes.count, !starts(with: "-----END ", at: position) { position += 1 }
    guard position < bytes.count else { return index..<bytes.count }
    position = end(of: position + 9) { $0 != UInt8(ascii: "-") }
    return index..<end(of: position) { $0 == UInt8(ascii: "-") }
  }

  /// The value in `name: value`, `name=value` or `"name": "value"`, also with escaped quotes, when the name tells.
  private func namedValue(behind index: Int) -> Range<Int>? {
    var nameEnd = index
    while nameEnd > 0, Self.isQuoteOrBlank(bytes[nameEnd - 1]) { nameEnd -= 1 }
    var nameStart = nameEnd
    while nameStart > 0, nameEnd - nameStart < 64, Self.isBase64URL(bytes[nameStart - 1]) { nameStart -= 1 }
    guard nameStart < nameEnd, SecretName.isSecret(bytes[nameStart..<nameEnd]) else { return nil }
    var start = end(of: index + 1) { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    let opening = end(of: start) { $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "'") }
    let isQuoted = opening > start
    start = opening
    let end = isQuoted ? endOfQuoted(start) : endOfBare(start)
    // The scheme stays to be read: its own rule takes what follows.
    for scheme in ["bearer", "basic"] as [StaticString] where !isQuoted && starts(with: scheme, at: start, ignoringCase: true) {
      let credentials = self.end(of: start + scheme.utf8CodeUnitCount) { $0 == UInt8(ascii: " ") }
      return starts(with: "[redacted]", at: credentials) ? nil : credentials..<endOfBare(credentials)
    }
    return end > start && !starts(with: "[redacted]", at: start) ? start..<end : nil
  }

  private func endOfBare(_ start: Int) -> Int { end(of: start) { !",;&\n\r\"'}]) ".utf8.contains($0) } }

  /// The closing quote of the kind that stands before `start`, or the backslash before it where that one is escaped too.
  private func endOfQuoted(_ start: Int) -> Int {
    let quote = bytes[start - 1]
    let isEscaped = start >= 2 && bytes[start - 2] == UInt8(ascii: "\\")
    var index = start
    while index < bytes.count, bytes[index] != quote {
      guard bytes[index] == UInt8(ascii: "\\") else {
        index += 1
        continue
      }
      if isEscaped, index + 1 < bytes.count, bytes[index + 1] == quote { return index }
      index += isEscaped ? 1 : 2
    }
    return min(index, bytes.count)
  }

  // MARK: Bytes

  private func end(of start: Int, while isPart: (UInt8) -> Bool) -> Int {
    var index = min(start, bytes.count)
    while index < bytes.count, isPart(bytes[index]) { index += 1 }
    return index
  }

  private func starts(with prefix: StaticString, at index: Int, ignoringCase: Bool = false) -> Bool {
    let count = prefix.utf8CodeUnitCount
    guard index >= 0, index + count <= bytes.count else { return false }
    for offset in 0..<count {
      let byte = bytes[index + offset]
      if byte != prefix.utf8Start[offset], !(ignoringCase && byte | 0x20 == prefix.utf8Start[offset]) { return false }
    }
    return true
  }

  private func isWordStart(_ index: Int) -> Bool { index == 0 || !Self.isBase64URL(bytes[index - 1]) }

  private static func isBase64URL(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  private static func isQuoteOrBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: " ")
  }
}
