public import Values

extension UUID: SQLValue {
  /// The declared type of the parameter.
  @inlinable public static var sqlType: SQLType { .uuid }

  /// Appends the value in the form of the wire protocol.
  @inlinable
  public func encode(into bytes: inout ContiguousArray<UInt8>) {
    bytes.append(bigEndian: high)
    bytes.append(bigEndian: low)
  }

  /// Reads the value from a column.
  @inlinable
  public init(sql cell: Cell) throws(DatabaseError) {
    let bytes = try cell.value()
    guard cell.type == .uuid, bytes.count == 16 else { throw cell.mismatch("a UUID") }
    self.init(high: bytes.bigEndian(at: 0, as: UInt64.self), low: bytes.bigEndian(at: 8, as: UInt64.self))
  }
}

extension UUID: SQLArrayElement {
  /// The type of an array of these.
  public static var sqlArrayType: SQLType { .uuidArray }
}
