/// A form with files that was received: `multipart/form-data`, read strictly.
///
/// The parts are slices of the body: nothing is copied but names.
public struct MultipartBody: Sendable {
  /// What a body may have.
  public struct Limits: Sendable, Hashable {
    /// The most parts.
    public var parts = 64
    /// The most bytes of one part's header section.
    public var headerBytes = 8 << 10

    /// The defaults: 64 parts, 8 KiB of headers each.
    public init() {}
  }

  /// A field or a file.
  public struct Part: Sendable, Hashable {
    /// What the field is called.
    public let name: String
    /// What the file is called, as the sender says; nil for a field.
    public let filename: String?
    /// The type that the sender says it has.
    public let mediaType: String?
    /// The content, in the body's own storage.
    public let bytes: ArraySlice<UInt8>

    /// The content as text; nil when it is not UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }
  }

  /// The parts in their order.
  public let parts: [Part]

  /// Reads a whole body.
  ///
  /// - Parameters:
  ///   - body: What was received.
  ///   - contentType: The value of `Content-Type`, which names the boundary.
  ///   - limits: What it may have.
  public init(parsing body: [UInt8], contentType: String, limits: Limits = Limits()) throws(MultipartError) {
    guard let type = HeaderParameters(contentType.utf8), type.value == "multipart/form-data" else {
      throw MultipartError(.notMultipart, "the content type is not multipart/form-data")
    }
    guard let boundary = type["boundary"], Self.isBoundary(boundary) else {
      throw MultipartError(.noBoundary, "the content type names no boundary")
    }
    let delimiter = Array("\r\n--\(boundary)".utf8)
    // The first boundary stands at the beginning, without a line end before it.
    guard body.starts(with: delimiter[2...]) else {
      throw MultipartError(.malformed, "the body does not begin with its boundary")
    }
    var position = delimiter.count - 2
    var parts: [Part] = []
    while true {
      let rest = body[position...]
      if rest.starts(with: Array("--".utf8)) {
        let tail = rest.dropFirst(2)
        guard tail.isEmpty || tail.elementsEqual([0x0d, 0x0a]) else {
          throw MultipartError(.malformed, "something follows the last boundary")
        }
        self.parts = parts
        return
      }
      guard rest.starts(with: [0x0d, 0x0a]) else {
        throw rest.count < 2
          ? MultipartError(.truncated, "the body ends at a boundary") : MultipartError(.malformed, "a boundary's line goes on")
      }
      guard parts.count < limits.parts else { throw MultipartError(.tooManyParts, "more than \(limits.parts) parts") }
      let head = try Self.head(of: body, from: position + 2, limits)
      guard let end = ByteSearch.first(delimiter, in: body, from: head.end - 2) else {
        throw MultipartError(.truncated, "the body ends within a part")
      }
      // A part may be empty: then the line end before the boundary is the one that ended the headers.
      parts.append(try Self.part(head.fields, body[head.end..<max(end, head.end)]))
      position = end + delimiter.count
    }
  }

  /// The first part of that name.
  public subscript(name: String) -> Part? { parts.first { $0.name == name } }

  /// All parts of that name, in order.
  public func all(_ name: String) -> [Part] { parts.filter { $0.name == name } }

  /// RFC 2046, 5.1.1: 1 to 70 characters of a few, the last one no blank.
  private static func isBoundary(_ text: String) -> Bool {
    (1...70).contains(text.utf8.count) && text.last != " "
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default: "'()+_,-./:=? ".utf8.contains(byte)
        }
      }
  }

  /// The header lines that begin at `start`, and where the content begins.
  private static func head(
    of body: [UInt8], from start: Int, _ limits: Limits
  ) throws(MultipartError) -> (fields: [ArraySlice<UInt8>], end: Int) {
    var fields: [ArraySlice<UInt8>] = []
    var position = start
    while true {
      guard let end = ByteSearch.first([0x0d, 0x0a], in: body, from: position) else {
        throw body.count - start > limits.headerBytes
          ? MultipartError(.headerTooLarge, "a part's headers have more than \(limits.headerBytes) bytes")
          : MultipartError(.truncated, "the body ends within a part's headers")
      }
      guard end + 2 - start <= limits.headerBytes else {
        throw MultipartError(.headerTooLarge, "a part's headers have more than \(limits.headerBytes) bytes")
      }
      if end == position { return (fields, end + 2) }
      fields.append(body[position..<end])
      position = end + 2
    }
  }

  private static func part(_ fields: [ArraySlice<UInt8>], _ bytes: ArraySlice<UInt8>) throws(MultipartError) -> Part {
    var disposition: HeaderParameters?
    var mediaType: String?
    for field in fields {
      guard let colon = field.firstIndex(of: UInt8(ascii: ":")), colon > field.startIndex,
        !field.contains(where: { $0 < 0x20 && $0 != 0x09 })
      else { throw MultipartError(.malformed, "a part's header is none") }
      let value = field[(colon + 1)...]
      switch String(decoding: field[..<colon], as: UTF8.self).lowercased() {
      case "content-disposition":
        guard disposition == nil, let read = HeaderParameters(value), read.value == "form-data" else {
          throw MultipartError(.malformed, "a part has no form-data disposition")
        }
        disposition = read
      case "content-type":
        guard mediaType == nil, let text = String(validating: value, as: UTF8.self) else {
          throw MultipartError(.malformed, "a part's content type is none")
        }
        mediaType = String(text.drop { $0 == " " || $0 == "\t" })
      default: break
      }
    }
    guard let disposition, let name = disposition["name"] else { throw MultipartError(.malformed, "a part has no name") }
    return Part(
      name: unquoted(name), filename: disposition["filename"].map(unquoted), mediaType: mediaType, bytes: bytes)
  }

  /// Undoes what browsers escape, and nothing else: a percent sign is one otherwise.
  private static func unquoted(_ name: String) -> String {
    guard name.contains("%") else { return name }
    var text: [UInt8] = []
    var rest = Array(name.utf8)[...]
    while let byte = rest.first {
      switch String(decoding: rest.prefix(3), as: UTF8.self).uppercased() {
      case "%22": text.append(UInt8(ascii: "\""))
      case "%0A": text.append(0x0a)
      case "%0D": text.append(0x0d)
      default:
        text.append(byte)
        rest = rest.dropFirst()
        continue
      }
      rest = rest.dropFirst(3)
    }
    return String(decoding: text, as: UTF8.self)
  }
}
