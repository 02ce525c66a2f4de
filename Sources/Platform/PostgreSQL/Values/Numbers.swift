extension ContiguousArray<UInt8> {
  /// Appends an integer in network order.
  @inlinable
  mutating func append<Value: FixedWidthInteger>(bigEndian value: Value) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }
}

extension UnsafeRawBufferPointer {
  /// Reads an integer in network order. The buffer must hold it.
  @inlinable
  func bigEndian<Value: FixedWidthInteger>(at offset: Int = 0, as type: Value.Type) -> Value {
    Value(bigEndian: loadUnaligned(fromByteOffset: offset, as: Value.self))
  }
}

extension Cell {
  /// Any of the integer types, widened.
  @inlinable
  func integer() throws(DatabaseError) -> Int64 {
    let bytes = try value()
    switch (type, bytes.count) {
    case (.int8, 8): return bytes.bigEndian(as: Int64.self)
    case (.int4, 4): return Int64(bytes.bigEndian(as: Int32.self))
    case (.int2, 2): return Int64(bytes.bigEndian(as: Int16.self))
    case (.oid, 4): return Int64(bytes.bigEndian(as: UInt32.self))
    default: throw mismatch("an integer")
    }
  }

  @inlinable
  func narrow<Value: FixedWidthInteger>(_ type: Value.Type) throws(DatabaseError) -> Value {
    guard let value = Value(exactly: try integer()) else { throw mismatch("an integer of \(Value.bitWidth) bits") }
    return value
  }
}

extension Bool: SQLValue {
  /// The declared type of the parameter.
  @inlinable public static var sqlType: SQLType { .bool }
  /// Appends the value in the form of the wire protocol.
  @inlinable
  public func encode(into bytes: inout ContiguousArray<UInt8>) { bytes.append(self ? 1 : 0) }
  /// Reads the value from a column.
  @inlinable
  public init(sql cell: Cell) throws(DatabaseError) {
    let bytes = try cell.value()
    guard cell.type == .bool, bytes.count == 1 else { throw cell.mismatch("a Bool") }
    self = bytes[0] != 0
  }
}

extension Int16: SQLValue {
  /// The declared type of the parameter.
  @inlinable public static var sqlType: SQLType { .int2 }
  /// Appends the value in the form of the wire protocol.
  @inlinable
  public func encode(into bytes: inout ContiguousArray<UInt8>) { bytes.append(bigEndian: self) }
  /// Reads the value from a column.
  @inlinable
  public init(sql cell: Cell) throws(DatabaseError) { self = try cell.narrow(Int16.self) }
}

extension Int32: SQLValue {
  /// The declared type of the parameter.
  @inlinable public static var sqlType: SQLType { .int4 }
  /// Appends the value in the form of the wire protocol.
  @inlinable
  public func encode(into bytes: inout ContiguousArray<UInt8>) { bytes.append(bigEndian: self) }
  /// Reads the value from a column.
  @inlinable
  public init(sql cell: Cell) throws(DatabaseError) { self = try cell.narrow(Int32.self) }
}

extension Int64: SQLValue {
  /// The declared type of the parameter.
  @inlinable public static var sqlType: SQLType { .int8 }
  /// Appends the value in the form of the wire protocol.
  @inlinable
  public func encode(into bytes: inout ContiguousArray<UInt8>) { bytes.append(bigEndian: self) }
  /// Reads the value from a column.
  @inlinable
  public init(sql cell: Cell) throws(DatabaseError) { self = try cell.integer() }
}

extension Int: SQLValue {
  /// The declared type of the parameter.
  @inlinable public static var sqlType: SQLType { .int8 }
  /// Appends the value in the form of the wire protocol.
  @inlinable
  public func encode(into bytes: inout ContiguousArray<UInt8>) { bytes.append(bigEndian: Int64(self)) }
  /// Reads the value from a column.
  @inlinable
  public init(sql cell: Cell) throws(DatabaseError) { self = try cell.narrow(Int.self) }
}

extension Double: SQLValue {
  /// The declared type of the parameter.
  @inlinable public static var sqlType: SQLType { .float8 }
  /// Appends the value in the form of the wire protocol.
  @inlinable
  public func encode(into bytes: inout ContiguousArray<UInt8>) { bytes.append(bigEndian: bitPattern) }
  /// Reads the value from a column.
  @inlinable
  public init(sql cell: Cell) throws(DatabaseError) {
    let bytes = try cell.value()
    switch (cell.type, bytes.count) {
    case (.float8, 8): self = Double(bitPattern: bytes.bigEndian(as: UInt64.self))
    case (.float4, 4): self = Double(Float(bitPattern: bytes.bigEndian(as: UInt32.self)))
    default: throw cell.mismatch("a Double")
    }
  }
}
