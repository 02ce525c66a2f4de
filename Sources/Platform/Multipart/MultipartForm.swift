/// A form with files that is to be sent: `multipart/form-data` (RFC 7578).
public struct MultipartForm: Sendable {
  /// A form as it is sent.
  public struct Content: Sendable, Hashable {
    /// The value of `Content-Type`, which names the boundary.
    public let contentType: String
    /// The body.
    public let body: [UInt8]
  }

  private struct Part: Sendable {
    let head: String
    let bytes: [UInt8]

    func contains(_ pattern: [UInt8]) -> Bool {
      ByteSearch.first(pattern, in: bytes, from: 0) != nil || ByteSearch.first(pattern, in: Array(head.utf8), from: 0) != nil
    }
  }

  private var parts: [Part] = []
  private let boundary: @Sendable () -> String

  /// A form without parts.
  public init() { self.init { Self.randomBoundary() } }

  /// A form whose boundaries come from `boundary`, which is asked again as long as what it says occurs in a part.
  init(boundary: @escaping @Sendable () -> String) { self.boundary = boundary }

  /// Adds a text.
  ///
  /// - Parameters:
  ///   - name: What the field is called.
  ///   - value: The text, sent as UTF-8.
  public mutating func addField(_ name: String, _ value: String) {
    parts.append(Part(head: "Content-Disposition: form-data; name=\"\(Self.quoted(name))\"\r\n\r\n", bytes: Array(value.utf8)))
  }

  /// Adds a file.
  ///
  /// - Parameters:
  ///   - name: What the field is called; several files may share it.
  ///   - filename: What the file is called. No folder is taken off.
  ///   - mediaType: Its type, such as `audio/mp4`; one that is not printable ASCII is sent as `application/octet-stream`.
  ///   - bytes: What is in it.
  public mutating func addFile(_ name: String, filename: String, mediaType: String, _ bytes: [UInt8]) {
    let isPrintable = !mediaType.isEmpty && mediaType.utf8.allSatisfy { (0x20...0x7e).contains($0) }
    parts.append(
      Part(
        head: "Content-Disposition: form-data; name=\"\(Self.quoted(name))\"; filename=\"\(Self.quoted(filename))\"\r\n"
          + "Content-Type: \(isPrintable ? mediaType : "application/octet-stream")\r\n\r\n", bytes: bytes))
  }

  /// The whole form, between boundaries that occur nowhere in it.
  public func encoded() -> Content {
    var boundary = boundary()
    while parts.contains(where: { $0.contains(Array(boundary.utf8)) }) { boundary = self.boundary() }
    var body: [UInt8] = []
    body.reserveCapacity(parts.reduce(128) { $0 + $1.head.utf8.count + $1.bytes.count + boundary.utf8.count + 8 })
    for part in parts {
      body.append(contentsOf: "--\(boundary)\r\n\(part.head)".utf8)
      body.append(contentsOf: part.bytes)
      body.append(contentsOf: "\r\n".utf8)
    }
    body.append(contentsOf: "--\(boundary)--\r\n".utf8)
    return Content(contentType: "multipart/form-data; boundary=\(boundary)", body: body)
  }

  private static func randomBoundary() -> String {
    var generator = SystemRandomNumberGenerator()
    let (high, low) = (digits(of: generator.next()), digits(of: generator.next()))
    return "parley-\(high)-\(low)"
  }

  /// Always 13 of them, so that the size of a form depends on nothing but what is in it.
  private static func digits(of number: UInt64) -> String {
    let digits = String(number, radix: 36)
    return String(repeating: "0", count: 13 - digits.utf8.count) + digits
  }

  /// A name between quotes, as the HTML standard writes it: what would end the quotes or the line is `%XX`.
  static func quoted(_ name: String) -> String {
    var text: [UInt8] = []
    for byte in name.utf8 {
      switch byte {
      case 0..<0x20, UInt8(ascii: "\""), 0x7f:
        text.append(UInt8(ascii: "%"))
        text.append(hexadecimal(byte >> 4))
        text.append(hexadecimal(byte & 0xf))
      default: text.append(byte)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func hexadecimal(_ digit: UInt8) -> UInt8 { digit < 10 ? 0x30 + digit : 0x41 + digit - 10 }
}
