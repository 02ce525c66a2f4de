internal import JOSE

/// Bytes with their type as one text (RFC 2397): `data:audio/m4a;base64,…`. Only base64, read strictly.
public struct DataURL: Sendable, Hashable {
  private static let maximumHeader = 256

  /// The media type in lower case, without its parameters: `audio/m4a`.
  public let mediaType: String
  /// The parameters of the media type, such as `codecs`, by their names in lower case.
  public let parameters: [String: String]
  /// The content.
  public let bytes: [UInt8]

  /// Reads a text.
  ///
  /// - Parameters:
  ///   - text: The whole URL.
  ///   - maximumBytes: The most bytes that its content may have. More are not decoded.
  public init(parsing text: String, maximumBytes: Int = AudioLimits.maximumFileSize) throws(DataURLError) {
    guard Self.isDataURL(text) else { throw DataURLError(.notADataURL) }
    let rest = text.utf8.dropFirst(5)
    let head = rest.prefix(Self.maximumHeader + 1)
    guard let comma = head.firstIndex(of: UInt8(ascii: ",")) else {
      throw DataURLError(head.count > Self.maximumHeader ? .headerTooLong : .noComma)
    }
    (mediaType, parameters) = try Self.type(head[..<comma])
    let content = rest[rest.index(after: comma)...]
    guard !content.isEmpty else { throw DataURLError(.empty) }
    let count = content.count
    let padding = content.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard (count + 3) / 4 * 3 - padding <= maximumBytes else { throw DataURLError(.tooLarge) }
    guard let bytes = Base64.decode(content) else { throw DataURLError(.invalidBase64) }
    guard !bytes.isEmpty else { throw DataURLError(.empty) }
    self.bytes = bytes
  }

  /// Whether a text begins as a data URL does, whatever follows.
  public static func isDataURL(_ text: String) -> Bool {
    text.utf8.prefix(5).elementsEqual("data:".utf8) { ($0 | 0x20) == ($1 | 0x20) }
  }

  /// The text for bytes.
  ///
  /// - Parameters:
  ///   - bytes: The content.
  ///   - mediaType: Its type.
  public static func encode(_ bytes: [UInt8], mediaType: String) -> String { "data:\(mediaType);base64,\(Base64.encode(bytes))" }

  /// The header: a type, parameters, and at last the word `base64`.
  private static func type(_ head: Substring.UTF8View) throws(DataURLError) -> (String, [String: String]) {
    var fields = head.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
    guard fields.count > 1, let last = fields.popLast(), last.elementsEqual("base64".utf8, by: { $0 | 0x20 == $1 | 0x20 }) else {
      throw DataURLError(.notBase64)
    }
    let parts = fields[0].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isTokenByte) }) else {
      throw DataURLError(.invalidMediaType)
    }
    var parameters: [String: String] = [:]
    for field in fields.dropFirst() {
      let pair = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, !pair[0].isEmpty, pair[0].allSatisfy(isTokenByte), let value = value(pair[1]) else {
        throw DataURLError(.invalidParameter)
      }
      guard parameters.updateValue(value, forKey: String(decoding: pair[0], as: UTF8.self).lowercased()) == nil else {
        throw DataURLError(.invalidParameter)
      }
    }
    return (String(decoding: fields[0], as: UTF8.self).lowercased(), parameters)
  }

  /// A token, or a text in quotes without any inside.
  private static func value(_ text: Substring.UTF8View) -> String? {
    let quote = UInt8(ascii: "\"")
    if text.count >= 2, text.first == quote, text.last == quote {
      let inner = text.dropFirst().dropLast()
      return inner.allSatisfy { (0x20...0x7e).contains($0) && $0 != quote && $0 != UInt8(ascii: "\\") }
        ? String(decoding: inner, as: UTF8.self) : nil
    }
    return !text.isEmpty && text.allSatisfy(isTokenByte) ? String(decoding: text, as: UTF8.self) : nil
  }

  /// RFC 9110, 5.6.2.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
