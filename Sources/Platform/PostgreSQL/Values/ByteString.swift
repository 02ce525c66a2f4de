/// One element of a `bytea[]`: an array of bytes by itself is a `bytea`.
public struct ByteString: SQLArrayElement, Hashable {
  /// The bytes.
  public var bytes: [UInt8]

  /// Wraps bytes.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The declared type of the parameter.
  public static var sqlType: SQLType { .bytea }
  /// The type of an array of these.
  public static var sqlArrayType: SQLType { .byteaArray }
  /// Appends the value in the form of the wire protocol.
  public func encode(into bytes: inout ContiguousArray<UInt8>) { bytes.append(contentsOf: self.bytes) }
  /// Reads the value from a column.
  public init(sql cell: Cell) throws(DatabaseError) { bytes = try [UInt8].init(sql: cell) }
}
