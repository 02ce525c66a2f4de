public import Values

extension Instant: SQLValue {
  /// PostgreSQL counts from 2000-01-01.
  @usableFromInline static var epochOffset: Int64 { 946_684_800_000_000 }

  /// The declared type of the parameter.
  @inlinable public static var sqlType: SQLType { .timestamptz }

  /// Appends the value in the form of the wire protocol.
  @inlinable
  public func encode(into bytes: inout ContiguousArray<UInt8>) {
    let (value, overflow) = microseconds.subtractingReportingOverflow(Self.epochOffset)
    let isInfinite = microseconds == .max || microseconds == .min
    bytes.append(bigEndian: isInfinite ? microseconds : overflow ? .min : value)
  }

  /// Reads the value from a column.
  @inlinable
  public init(sql cell: Cell) throws(DatabaseError) {
    let bytes = try cell.value()
    guard cell.type == .timestamptz || cell.type == .timestamp, bytes.count == 8 else { throw cell.mismatch("an Instant") }
    let value = bytes.bigEndian(as: Int64.self)
    let (sum, overflow) = value.addingReportingOverflow(Self.epochOffset)
    self.init(microseconds: value == .max || value == .min ? value : overflow ? .max : sum)
  }
}

extension Instant: SQLArrayElement {
  /// The type of an array of these.
  public static var sqlArrayType: SQLType { .timestamptzArray }
}
