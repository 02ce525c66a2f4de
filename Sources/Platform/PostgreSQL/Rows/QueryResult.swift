internal import CPostgreSQL

// SAFETY: libpq never changes a result that it has handed out, and only `deinit` frees it.
/// What the server answered to one statement; owns the memory of libpq's result.
public final class QueryResult: @unchecked Sendable {
  let pointer: OpaquePointer
  /// The number of rows returned.
  public let count: Int
  /// The number of columns of each row.
  public let columnCount: Int

  init(_ pointer: OpaquePointer) {
    self.pointer = pointer
    count = Int(PQntuples(pointer))
    columnCount = Int(PQnfields(pointer))
  }

  deinit { PQclear(pointer) }

  /// How many rows an INSERT, UPDATE, DELETE or SELECT touched.
  public var affectedRows: Int { Int(String(cString: PQcmdTuples(pointer))) ?? 0 }

  /// The command tag, such as `COMMIT`.
  var tag: String { String(cString: PQcmdStatus(pointer)) }

  /// The row at a position below ``count``.
  @inlinable
  public subscript(index: Int) -> Row {
    precondition(index >= 0 && index < count, "no such row")
    return Row(result: self, index: index)
  }

  /// One value, in binary form. Valid while the result lives.
  public func cell(row: Int, column: Int) -> Cell {
    let type = SQLType(rawValue: PQftype(pointer, Int32(column)))
    let length = Int(PQgetlength(pointer, Int32(row), Int32(column)))
    if length == 0 && PQgetisnull(pointer, Int32(row), Int32(column)) != 0 { return Cell(bytes: nil, type: type) }
    return Cell(
      bytes: UnsafeRawBufferPointer(start: PQgetvalue(pointer, Int32(row), Int32(column)), count: length), type: type)
  }

  /// The name of a column, for messages.
  func columnName(_ column: Int) -> String { PQfname(pointer, Int32(column)).map { String(cString: $0) } ?? "?" }
}
