public import EventLoop

/// What statements can be run on: the shared read connections, a transaction, or the pool.
///
/// Rows are read by the type that the caller expects:
/// ```swift
/// let notes: [(UUID, String?)] = try await reads.rows("select id, title from notes.note where user_id = \(user)")
/// let note: Note? = try await reads.row("select … where id = \(id)")          // Note: RowDecodable
/// let count: Int? = try await reads.row("select count(*) from notes.note")
/// ```
public protocol QueryRunning: Sendable {
  /// Runs one statement.
  ///
  /// - Parameters:
  ///   - query: The statement with its parameters.
  ///   - deadline: When the caller stops waiting; nil leaves it to the configured timeouts.
  /// - Throws: ``DatabaseError``.
  func run(_ query: Query, deadline: MonotonicInstant?) async throws(DatabaseError) -> QueryResult
}

extension QueryRunning {
  /// All rows, each as a tuple of its columns (or as the value of its one column).
  @inlinable
  public func rows<each Column: SQLDecodable>(
    _ query: Query, as type: (repeat each Column).Type = (repeat each Column).self, deadline: MonotonicInstant? = nil
  ) async throws(DatabaseError) -> [(repeat each Column)] {
    let result = try await run(query, deadline: deadline)
    var rows: [(repeat each Column)] = []
    rows.reserveCapacity(result.count)
    for index in 0..<result.count { rows.append(try result[index].decode(as: (repeat each Column).self)) }
    return rows
  }

  /// All rows, each as a value of its own type.
  @inlinable
  public func rows<Value: RowDecodable>(
    _ query: Query, as type: Value.Type = Value.self, deadline: MonotonicInstant? = nil
  ) async throws(DatabaseError) -> [Value] {
    let result = try await run(query, deadline: deadline)
    var rows: [Value] = []
    rows.reserveCapacity(result.count)
    for index in 0..<result.count { rows.append(try Value(result[index])) }
    return rows
  }

  /// The first row, or nil when there is none.
  @inlinable
  public func row<each Column: SQLDecodable>(
    _ query: Query, as type: (repeat each Column).Type = (repeat each Column).self, deadline: MonotonicInstant? = nil
  ) async throws(DatabaseError) -> (repeat each Column)? {
    let result = try await run(query, deadline: deadline)
    if result.count == 0 { return Optional<(repeat each Column)>.none }
    let row: (repeat each Column) = try result[0].decode(as: (repeat each Column).self)
    return row
  }

  /// The first row as a value of its own type, or nil when there is none.
  @inlinable
  public func row<Value: RowDecodable>(
    _ query: Query, as type: Value.Type = Value.self, deadline: MonotonicInstant? = nil
  ) async throws(DatabaseError) -> Value? {
    let result = try await run(query, deadline: deadline)
    return result.count == 0 ? nil : try Value(result[0])
  }

  /// The one column of the first row, or nil when there is no row: `try await reads.value("select count(*) …") == 7`.
  @inlinable
  public func value<Value: SQLDecodable>(
    _ query: Query, as type: Value.Type = Value.self, deadline: MonotonicInstant? = nil
  ) async throws(DatabaseError) -> Value? {
    let result = try await run(query, deadline: deadline)
    return result.count == 0 ? nil : try result[0].decode(at: 0)
  }
}
