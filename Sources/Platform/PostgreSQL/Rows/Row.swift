/// One row of a result. Columns are read by position and checked against the type that the server declared.
public struct Row: Sendable {
  @usableFromInline let result: QueryResult
  @usableFromInline let index: Int

  @inlinable
  init(result: QueryResult, index: Int) {
    self.result = result
    self.index = index
  }

  /// The number of columns.
  @inlinable public var count: Int { result.columnCount }

  /// Reads one column, counted from 0.
  ///
  /// - Throws: ``DatabaseError`` with `decodingFailed`, naming the column.
  @inlinable
  public func decode<Value: SQLDecodable>(_ type: Value.Type = Value.self, at column: Int) throws(DatabaseError) -> Value {
    guard column >= 0 && column < result.columnCount else { throw noColumn(column) }
    do {
      return try Value(sql: result.cell(row: index, column: column))
    } catch {
      throw describe(error, column)
    }
  }

  /// Reads all columns at once: `let (id, title): (UUID, String?) = try row.decode()`.
  ///
  /// - Throws: ``DatabaseError`` with `decodingFailed` also when the number of columns is another.
  @inlinable
  public func decode<each Column: SQLDecodable>(
    as type: (repeat each Column).Type = (repeat each Column).self
  ) throws(DatabaseError) -> (repeat each Column) {
    var column = -1
    func next<Value: SQLDecodable>(_: Value.Type) throws(DatabaseError) -> Value {
      column += 1
      return try decode(Value.self, at: column)
    }
    let values = (repeat try next((each Column).self))
    guard column + 1 == result.columnCount else { throw noColumn(column + 1) }
    return values
  }

  @usableFromInline
  func noColumn(_ column: Int) -> DatabaseError {
    .init(.decodingFailed, "the row has \(result.columnCount) columns, the program reads column \(column + 1) as its last")
  }

  @usableFromInline
  func describe(_ error: DatabaseError, _ column: Int) -> DatabaseError {
    error.prefixed("column \(column + 1) (\(result.columnName(column))): ")
  }
}

/// A type that a whole row is read as.
public protocol RowDecodable {
  /// Reads the row: `(id, title) = try row.decode()`, or column by column.
  init(_ row: Row) throws(DatabaseError)
}
