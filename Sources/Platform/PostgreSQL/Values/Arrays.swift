/// What may be an element of a one-dimensional array parameter or column.
public protocol SQLArrayElement: SQLValue {
  /// The type of the array.
  static var sqlArrayType: SQLType { get }
  /// Appends the whole array.
  static func encode(_ array: [Self], into bytes: inout ContiguousArray<UInt8>)
  /// Reads the whole array.
  static func decode(_ cell: Cell) throws(DatabaseError) -> [Self]
}

extension SQLArrayElement {
  /// The binary form: dimensions, has-nulls, element type, then length and lower bound, then each element with its length.
  public static func encode(_ array: [Self], into bytes: inout ContiguousArray<UInt8>) {
    bytes.append(bigEndian: Int32(array.isEmpty ? 0 : 1))
    bytes.append(bigEndian: Int32(0))
    bytes.append(bigEndian: sqlType.rawValue)
    guard !array.isEmpty else { return }
    bytes.append(bigEndian: Int32(array.count))
    bytes.append(bigEndian: Int32(1))
    for element in array {
      let start = bytes.count
      bytes.append(bigEndian: Int32(0))
      element.encode(into: &bytes)
      let length = Int32(bytes.count - start - 4).bigEndian
      withUnsafeBytes(of: length) { for index in 0..<4 { bytes[start + index] = $0[index] } }
    }
  }

  /// Reads an array without NULLs of at most one dimension.
  public static func decode(_ cell: Cell) throws(DatabaseError) -> [Self] {
    let bytes = try cell.value()
    guard bytes.count >= 12 else { throw cell.mismatch("an array") }
    let dimensions = bytes.bigEndian(at: 0, as: Int32.self)
    let element = SQLType(rawValue: bytes.bigEndian(at: 8, as: UInt32.self))
    if dimensions == 0 { return [] }
    guard dimensions == 1, bytes.count >= 20 else { throw cell.mismatch("an array of one dimension") }
    let count = Int(bytes.bigEndian(at: 12, as: Int32.self))
    guard count >= 0, count <= (bytes.count - 20) / 4 else { throw cell.mismatch("an array") }
    var array: [Self] = []
    array.reserveCapacity(count)
    var offset = 20
    for _ in 0..<count {
      guard offset + 4 <= bytes.count else { throw cell.mismatch("an array") }
      let length = Int(bytes.bigEndian(at: offset, as: Int32.self))
      offset += 4
      guard length >= 0 else { throw Cell.unexpectedNull() }
      guard length <= bytes.count - offset else { throw cell.mismatch("an array") }
      array.append(try Self(sql: Cell(bytes: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length]), type: element)))
      offset += length
    }
    return array
  }
}

extension Array: SQLEncodable where Element: SQLArrayElement {
  /// The declared type of the parameter.
  @inlinable public static var sqlType: SQLType { Element.sqlArrayType }
  /// Appends the value in the form of the wire protocol.
  @inlinable
  public func encode(into bytes: inout ContiguousArray<UInt8>) { Element.encode(self, into: &bytes) }
}

extension Array: SQLDecodable where Element: SQLArrayElement {
  /// Reads the whole array.
  @inlinable
  public init(sql cell: Cell) throws(DatabaseError) { self = try Element.decode(cell) }
}

extension Bool: SQLArrayElement {
  /// The type of an array of these.
  public static var sqlArrayType: SQLType { .boolArray }
}
extension Int16: SQLArrayElement {
  /// The type of an array of these.
  public static var sqlArrayType: SQLType { .int2Array }
}
extension Int32: SQLArrayElement {
  /// The type of an array of these.
  public static var sqlArrayType: SQLType { .int4Array }
}
extension Int64: SQLArrayElement {
  /// The type of an array of these.
  public static var sqlArrayType: SQLType { .int8Array }
}
extension Int: SQLArrayElement {
  /// The type of an array of these.
  public static var sqlArrayType: SQLType { .int8Array }
}
extension Double: SQLArrayElement {
  /// The type of an array of these.
  public static var sqlArrayType: SQLType { .float8Array }
}
extension String: SQLArrayElement {
  /// The type of an array of these.
  public static var sqlArrayType: SQLType { .textArray }
}

/// An array of bytes is a `bytea`, not a PostgreSQL array. A single byte is a `smallint`.
extension UInt8: SQLArrayElement {
  /// The declared type of the parameter.
  public static var sqlType: SQLType { .int2 }
  /// The type of an array of these.
  public static var sqlArrayType: SQLType { .bytea }
  /// Appends the value in the form of the wire protocol.
  public func encode(into bytes: inout ContiguousArray<UInt8>) { bytes.append(bigEndian: Int16(self)) }
  /// Reads the value from a column.
  public init(sql cell: Cell) throws(DatabaseError) { self = try cell.narrow(UInt8.self) }

  /// Appends the whole array.
  public static func encode(_ array: [UInt8], into bytes: inout ContiguousArray<UInt8>) { bytes.append(contentsOf: array) }

  /// Reads the whole array.
  public static func decode(_ cell: Cell) throws(DatabaseError) -> [UInt8] {
    let bytes = try cell.value()
    guard cell.type == .bytea else { throw cell.mismatch("bytes") }
    return [UInt8](bytes)
  }
}
