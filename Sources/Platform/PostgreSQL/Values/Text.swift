extension String: SQLValue {
  /// The declared type of the parameter.
  @inlinable public static var sqlType: SQLType { .text }
  /// Appends the value in the form of the wire protocol.
  @inlinable
  public func encode(into bytes: inout ContiguousArray<UInt8>) { bytes.append(contentsOf: utf8) }

  /// Reads text of any kind; also the labels of enumerations, whose type is user-defined.
  public init(sql cell: Cell) throws(DatabaseError) {
    let bytes = try cell.value()
    switch cell.type {
    case .text, .varchar, .bpchar, .name, .json, .unknown: break
    default: guard cell.type.rawValue >= SQLType.firstUserDefined else { throw cell.mismatch("a String") }
    }
    guard let text = try? UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span) else { throw cell.mismatch("UTF-8 text") }
    self = String(copying: text)
  }
}

/// A JSON document in a `jsonb` column, as its UTF-8 text.
public struct JSONB: SQLValue, Hashable {
  /// The document. The server refuses what is not JSON.
  public var text: String

  /// A document from its text.
  public init(_ text: String) { self.text = text }

  /// The declared type of the parameter.
  public static var sqlType: SQLType { .jsonb }

  /// Appends the value in the form of the wire protocol.
  public func encode(into bytes: inout ContiguousArray<UInt8>) {
    bytes.append(1)  // the version of the binary form
    bytes.append(contentsOf: text.utf8)
  }

  /// Reads `jsonb` or `json`.
  public init(sql cell: Cell) throws(DatabaseError) {
    var bytes = try cell.value()
    if cell.type == .jsonb {
      guard bytes.first == 1 else { throw cell.mismatch("a JSON document of version 1") }
      bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
    } else if cell.type != .json {
      throw cell.mismatch("a JSON document")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw cell.mismatch("UTF-8 text") }
    self.text = text
  }
}

/// An IP address or network in an `inet` column, as text (`192.0.2.1`, `2001:db8::/32`).
public struct INET: SQLValue, Hashable {
  /// The address as PostgreSQL writes it, with `/bits` when it is a network.
  public var text: String

  /// An address from its text. The server refuses what is none.
  public init(_ text: String) { self.text = text }

  /// The declared type of the parameter.
  public static var sqlType: SQLType { .inet }
  /// Whether the value travels as text.
  public static var usesTextFormat: Bool { true }

  /// Appends the value in the form of the wire protocol.
  public func encode(into bytes: inout ContiguousArray<UInt8>) { bytes.append(contentsOf: text.utf8) }

  /// Reads the binary form: family, prefix bits, is-cidr, length, address.
  public init(sql cell: Cell) throws(DatabaseError) {
    let bytes = try cell.value()
    guard cell.type == .inet, bytes.count >= 4, bytes.count == 4 + Int(bytes[3]), bytes[3] == 4 || bytes[3] == 16 else {
      throw cell.mismatch("an IP address")
    }
    let address = [UInt8](bytes.dropFirst(4))
    let text = address.count == 4 ? address.map { "\($0)" }.joined(separator: ".") : Self.ipv6(address)
    self.text = Int(bytes[1]) == address.count * 8 ? text : "\(text)/\(bytes[1])"
  }

  /// RFC 5952, section 4: lower case, no leading zeros, the longest run of at least two zero groups (the first of equals)
  /// as `::`.
  private static func ipv6(_ bytes: [UInt8]) -> String {
    if bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] {
      return "::ffff:" + bytes.suffix(4).map { "\($0)" }.joined(separator: ".")
    }
    let groups = (0..<8).map { Int(bytes[2 * $0]) << 8 | Int(bytes[2 * $0 + 1]) }
    var best = 0..<0
    var start = 0
    for index in 0...8 where index == 8 || groups[index] != 0 {
      if index - start > best.count { best = start..<index }
      start = index + 1
    }
    func text(_ range: Range<Int>) -> String { groups[range].map { String($0, radix: 16) }.joined(separator: ":") }
    return best.count < 2 ? text(0..<8) : text(0..<best.lowerBound) + "::" + text(best.upperBound..<8)
  }
}
