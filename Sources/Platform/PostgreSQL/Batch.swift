public import EventLoop

/// Statements that travel together in one round trip; see ``Database/batch(deadline:_:)``, ``Transaction/batch(deadline:_:)``,
/// ``Transaction/commit(_:)``, ``Relaxed/batch(deadline:_:)`` and ``Reads/batch(deadline:_:)``.
public struct Batch: ~Copyable {
  var queries: [Query] = []

  /// Adds a statement; they run in the order in which they were added.
  ///
  /// - Returns: Which one it is, for the results.
  @discardableResult
  public mutating func add(_ query: Query) -> Int {
    queries.append(query)
    return queries.count - 1
  }

  static func of(_ body: (inout Batch) -> Void) -> [Query] {
    var batch = Batch()
    body(&batch)
    return batch.queries
  }
}

/// What the statements of a batch answered, in their order.
public struct BatchResults: Sendable {
  /// One result per statement.
  public let results: [QueryResult]

  /// The results of statements.
  public init(results: [QueryResult]) { self.results = results }

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

  /// The rows of one statement, each as a value of its own type.
  public func rows<Value: RowDecodable>(
    of statement: Int, as type: Value.Type = Value.self
  ) throws(DatabaseError) -> [Value] {
    var rows: [Value] = []
    let result = results[statement]
    for index in 0..<result.count { rows.append(try Value(result[index])) }
    return rows
  }

  /// The first row of one statement, or nil when there is none.
  public func row<each Column: SQLDecodable>(
    of statement: Int, as type: (repeat each Column).Type = (repeat each Column).self
  ) throws(DatabaseError) -> (repeat each Column)? {
    let result = results[statement]
    if result.count == 0 { return Optional<(repeat each Column)>.none }
    let row: (repeat each Column) = try result[0].decode(as: (repeat each Column).self)
    return row
  }

  /// The first row of one statement as a value of its own type, or nil when there is none.
  public func row<Value: RowDecodable>(
    of statement: Int, as type: Value.Type = Value.self
  ) throws(DatabaseError) -> Value? {
    let result = results[statement]
    return result.count == 0 ? nil : try Value(result[0])
  }

  /// The one column of the first row of one statement, or nil when there is no row.
  public func value<Value: SQLDecodable>(
    of statement: Int, as type: Value.Type = Value.self
  ) throws(DatabaseError) -> Value? {
    let result = results[statement]
    return result.count == 0 ? nil : try result[0].decode(at: 0)
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
    let queries = Batch.of(body)
    guard !queries.isEmpty else { return BatchResults(results: []) }
    // One segment of the pipeline is one implicit transaction: its sync commits.
    return BatchResults(results: try await runBatch(queries, deadline: deadline))
  }
}

extension Relaxed {
  /// Runs all statements that `body` adds as one transaction in one round trip, whose commit does not wait for the disk.
  ///
  /// - Throws: ``DatabaseError``: the first statement's that failed; `mayHaveCommitted` when the connection broke.
  @discardableResult
  public func batch(
    deadline: MonotonicInstant? = nil, _ body: (inout Batch) -> Void
  ) async throws(DatabaseError) -> BatchResults {
    let queries = Batch.of(body)
    guard !queries.isEmpty else { return BatchResults(results: []) }
    return BatchResults(results: try await database.runBatch(queries, deadline: deadline, isRelaxed: true))
  }
}

extension Reads {
  /// Runs all SELECTs that `body` adds in one round trip. Each sees what was committed before it began: they are no transaction.
  ///
  /// ```swift
  /// let found = try await database.reads.batch {
  ///   $0.add("select name from auth.account where id = \(user)")
  ///   $0.add("select count(*) from auth.session where user_id = \(user)")
  /// }
  /// let (name, sessions): (String?, Int?) = (try found.value(of: 0), try found.value(of: 1))
  /// ```
  /// - Throws: ``DatabaseError``: the first one's that failed.
  public func batch(
    deadline: MonotonicInstant? = nil, _ body: (inout Batch) -> Void
  ) async throws(DatabaseError) -> BatchResults {
    let queries = Batch.of(body)
    guard !queries.isEmpty else { return BatchResults(results: []) }
    if let part = database.currentPart { return BatchResults(results: try await part.readAll(queries, deadline: deadline)) }
    return BatchResults(
      results: try await database.onLoop(of: database.parts[0]) { part throws(DatabaseError) in
        try await part.readAll(queries, deadline: deadline)
      })
  }
}
