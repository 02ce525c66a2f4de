public import EventLoop

/// The statements of a transaction that is known as a whole; see ``Database/batch(deadline:_:)``.
public struct Batch: ~Copyable {
  var queries: [Query] = []

  /// Adds a statement; they run in the order in which they were added.
  public mutating func add(_ query: Query) { queries.append(query) }
}

/// What the statements of a batch answered, in their order.
public struct BatchResults: Sendable {
  /// One result per statement.
  public let results: [QueryResult]

  /// How many rows each statement touched.
  public var affectedRows: [Int] { results.map(\.affectedRows) }

  /// The rows of one statement, as tuples.
  public func rows<each Column: SQLDecodable>(
    of statement: Int, as type: (repeat each Column).Type = (repeat each Column).self
  ) throws(DatabaseError) -> [(repeat each Column)] {
    var rows: [(repeat each Column)] = []
    let result = results[statement]
    for index in 0..<result.count { rows.append(try result[index].decode(as: (repeat each Column).self)) }
    return rows
  }
}

extension Database {
  /// Runs all statements that `body` adds as one transaction in one round trip: all are committed, or none.
  ///
  /// ```swift
  /// try await database.batch {
  ///   $0.add("insert into audit.event (id, subject) values (\(id), \(subject))")
  ///   $0.add("update auth.session set used_at = \(now) where id = \(session)")
  /// }
  /// ```
  /// - Throws: ``DatabaseError``: the first statement's that failed; `mayHaveCommitted` when the connection broke.
  @discardableResult
  public func batch(
    deadline: MonotonicInstant? = nil, _ body: (inout Batch) -> Void
  ) async throws(DatabaseError) -> BatchResults {
    var batch = Batch()
    body(&batch)
    guard !batch.queries.isEmpty else { return BatchResults(results: []) }
    // One segment of the pipeline is one implicit transaction: its sync commits.
    return BatchResults(results: try await runBatch(batch.queries, deadline: deadline))
  }
}
