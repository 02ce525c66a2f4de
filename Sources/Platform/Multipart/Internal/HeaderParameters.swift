/// A header field's value with its parameters: `form-data; name="file"; filename="a.m4a"` (RFC 9110, 5.6.6).
struct HeaderParameters {
  /// What stands before the first semicolon, in lower case.
  let value: String
  private var parameters: [String: String] = [:]

  /// Reads a value; nil when it has no form, or a parameter comes twice.
  init?(_ text: some Sequence<UInt8>) {
    var reader = Reader(Array(text))
    reader.skipBlanks()
    let value = reader.take { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != 0x09 }
    guard !value.isEmpty, let text = String(validating: value, as: UTF8.self) else { return nil }
    self.value = text.lowercased()
    while true {
      reader.skipBlanks()
      if reader.isAtEnd { return }
      guard reader.take(UInt8(ascii: ";")) else { return nil }
      reader.skipBlanks()
      let name = reader.take(while: Self.isTokenByte)
      guard !name.isEmpty, reader.take(UInt8(ascii: "=")), let value = reader.parameterValue() else { return nil }
      guard let text = String(validating: value, as: UTF8.self) else { return nil }
      guard parameters.updateValue(text, forKey: String(decoding: name, as: UTF8.self).lowercased()) == nil else { return nil }
    }
  }

  /// The value of a parameter, by its name in lower case.
  subscript(name: String) -> String? { parameters[name] }

  /// RFC 9110, 5.6.2.
  fileprivate static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}

private struct Reader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func skipBlanks() { _ = take { $0 == UInt8(ascii: " ") || $0 == 0x09 } }

  mutating func take(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  mutating func take(while isWanted: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let start = position
    while position < bytes.count, isWanted(bytes[position]) { position += 1 }
    return bytes[start..<position]
  }

  /// A token, or a text in quotes. In it a backslash stands before a quote or a backslash only: elsewhere it is one of a path of
  /// Windows, which browsers send as it is.
  mutating func parameterValue() -> [UInt8]? {
    guard take(UInt8(ascii: "\"")) else {
      let token = take(while: HeaderParameters.isTokenByte)
      return token.isEmpty ? nil : Array(token)
    }
    var value: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return value
      case UInt8(ascii: "\\") where position < bytes.count && (bytes[position] == UInt8(ascii: "\"") || bytes[position] == byte):
        value.append(bytes[position])
        position += 1
      default: value.append(byte)
      }
    }
    return nil
  }
}
