public import EventLoop
internal import Synchronization
internal import Values

/// How strictly concurrent transactions are kept apart.
public enum Isolation: Sendable, Hashable {
  /// Each statement sees what was committed before it began: PostgreSQL's default.
  case readCommitted
  /// All statements see what was committed before the first.
  case repeatableRead
  /// As if transactions ran one after the other; fails with `aborted` where that cannot be kept up.
  case serializable
}

/// An open transaction on a connection of its own; see ``Database/transaction(isolation:deadline:_:)``.
///
/// It begins with its first statement, in the same round trip. One call at a time. What it costs is round trips, so whatever can
/// travel together should: ``batch(deadline:_:)`` for statements that need nothing of each other's answers, ``add(_:)`` for those whose
/// answers nobody needs, and ``commit(_:)`` for the last ones.
/// ```swift
/// try await database.transaction { transaction in
///   let balance: Int? = try await transaction.value("select balance from account where id = \(id) for update")   // with BEGIN
///   guard balance ?? 0 >= price else { throw TooLittle() }
///   transaction.add("update account set balance = balance - \(price) where id = \(id)")
///   transaction.add("insert into purchase (account, price) values (\(id), \(price))")
/// }                                                                              // both with COMMIT: two round trips in all
/// ```
public final class Transaction: QueryRunning {
  private struct State {
    var hasBegun = false
    var hasEnded = false
    /// What travels with the next statement.
    var added: [Query] = []
  }

  private let database: Database
  private let part: LoopDatabase
  private let connection: Connection
  private let isolation: Isolation
  private let deadline: MonotonicInstant?
  private let state = Mutex(State())

  init(
    _ database: Database, _ part: LoopDatabase, _ connection: Connection, _ isolation: Isolation, _ deadline: MonotonicInstant?
  ) {
    self.database = database
    self.part = part
    self.connection = connection
    self.isolation = isolation
    self.deadline = deadline
  }

  /// Runs one statement of the transaction.
  ///
  /// - Throws: ``DatabaseError``, also for a statement that was added before. After an error of the server's the transaction cannot
  ///   be committed any more.
  public func run(_ query: Query, deadline: MonotonicInstant? = nil) async throws(DatabaseError) -> QueryResult {
    let results = try await run([query], deadline: deadline)
    guard let result = results.last else { throw DatabaseError(.misuse, "the statement has no result") }
    return result
  }

  /// Runs one statement and says how many rows it touched.
  @discardableResult
  public func execute(_ query: Query, deadline: MonotonicInstant? = nil) async throws(DatabaseError) -> Int {
    try await run(query, deadline: deadline).affectedRows
  }

  /// Runs several statements in one round trip; the first that fails ends the transaction.
  ///
  /// - Returns: How many rows each touched.
  @discardableResult
  public func executeAll(_ queries: [Query], deadline: MonotonicInstant? = nil) async throws(DatabaseError) -> [Int] {
    try await run(queries, deadline: deadline).map(\.affectedRows)
  }

  /// Runs all statements that `body` adds in one round trip; the first that fails ends the transaction.
  ///
  /// - Returns: What each answered.
  @discardableResult
  public func batch(
    deadline: MonotonicInstant? = nil, _ body: (inout Batch) -> Void
  ) async throws(DatabaseError) -> BatchResults {
    let queries = Batch.of(body)
    guard !queries.isEmpty else { return BatchResults(results: []) }
    return BatchResults(results: try await run(queries, deadline: deadline))
  }

  /// Adds a statement whose answer nobody needs: it costs no round trip of its own, but travels with the next statement, or with
  /// COMMIT.
  ///
  /// Its error is thrown by whatever it travels with, so that it has to be one that the caller does not tell from others there. A
  /// transaction that has ended ignores it.
  public func add(_ query: Query) { state.withLock { if !$0.hasEnded { $0.added.append(query) } } }

  /// Lets the commit not wait for the disk: for a transaction that has turned out to leave nothing but what may be lost when the server
  /// crashes, such as counts. It costs no round trip of its own.
  public func relax() { add("select set_config('synchronous_commit', 'off', true)") }

  /// Runs the last statements, those that `body` adds, and commits, all in one round trip. The transaction is over then: whoever
  /// finds by their answers that it should not have been committed comes too late.
  ///
  /// - Returns: What each answered.
  /// - Throws: ``DatabaseError``: the first statement's that failed, and then nothing is committed; `mayHaveCommitted` when the
  ///   connection broke.
  @discardableResult
  public func commit(_ body: (inout Batch) -> Void = { _ in }) async throws(DatabaseError) -> BatchResults {
    let queries = Batch.of(body)
    let isOpen = state.withLock { !$0.hasEnded }
    guard isOpen else { throw DatabaseError(.misuse, "the transaction has ended") }
    return BatchResults(results: try await finish(with: queries))
  }

  private func run(_ queries: [Query], deadline: MonotonicInstant?) async throws(DatabaseError) -> [QueryResult] {
    for query in queries { try query.mustBeStorable() }
    let (isFirst, added) = try state.withLock { state throws(DatabaseError) in
      if state.hasEnded { throw DatabaseError(.misuse, "the transaction has ended") }
      for query in state.added { try query.mustBeStorable() }
      defer { (state.hasBegun, state.added) = (true, []) }
      return (!state.hasBegun, state.added)
    }
    let before = (isFirst ? beginning() : []) + added
    let results = try await send(before + queries, deadline: min(deadline ?? .distantFuture, self.deadline ?? .distantFuture))
    return Array(results.dropFirst(before.count))
  }

  private func beginning() -> [Query] {
    let begin: Query =
      switch isolation {
      case .readCommitted: "begin"
      case .repeatableRead: "begin isolation level repeatable read"
      case .serializable: "begin isolation level serializable"
      }
    return [begin] + timeout()
  }

  private func timeout() -> [Query] {
    guard let timeout = part.pool.statementTimeout(until: deadline) else { return [] }
    return ["select set_config('statement_timeout', \(String(timeout)), true)"]
  }

  private func send(_ queries: [Query], deadline: MonotonicInstant) async throws(DatabaseError) -> [QueryResult] {
    let deadline = deadline == .distantFuture ? nil : deadline
    return try await database.onLoop(of: part) { [connection] part throws(DatabaseError) in
      try await part.step(queries, on: connection, deadline: deadline)
    }
  }

  /// Commits what was done, with the last statements in front, if there is anything.
  ///
  /// - Returns: What those answered.
  func finish(with queries: [Query] = []) async throws(DatabaseError) -> [QueryResult] {
    let (isFirst, isOver, added) = state.withLock { state in
      defer { (state.hasEnded, state.added) = (true, []) }
      return (!state.hasBegun, state.hasEnded, state.added)
    }
    let last = added + queries
    for query in last { try query.mustBeStorable() }
    guard !isOver, !isFirst || !last.isEmpty else { return [] }
    // A transaction that is known as a whole after all: the sync of its one segment begins and commits it.
    let isImplicit = isFirst && isolation == .readCommitted
    let before = isImplicit ? timeout() : isFirst ? beginning() : []
    let meter = part.meter
    let probe = meter == nil ? [] : [StatementMeter.probe]
    let results = try await send(
      before + last + probe + (isImplicit ? [] : ["commit"]), deadline: deadline ?? .distantFuture)
    if let meter {
      meter.note(probe: results[before.count + last.count])
      meter.add(statements: -1)
    }
    // A failed transaction answers COMMIT with ROLLBACK and no error.
    guard isImplicit || results.last?.tag == "COMMIT" else {
      throw DatabaseError(.queryFailed, "a statement of the transaction had failed, so nothing was committed")
    }
    return Array(results.dropFirst(before.count + added.count).prefix(queries.count))
  }

  /// Gives the connection back; what is not committed is rolled back by the pool.
  func release() {
    state.withLock { $0.hasEnded = true }
    if part.loop.isCurrent { return part.pool.release(connection) }
    part.loop.execute { [part, connection] in part.pool.release(connection) }
  }
}

extension Database {
  /// Runs `body` in a transaction and commits it; an error thrown by `body` rolls it back and is thrown on.
  ///
  /// A transaction whose statements are known beforehand takes one round trip with ``batch(deadline:_:)``; this one takes one for
  /// each statement that the body waits for, and one to commit, with which the last statements may travel: see ``Transaction``.
  ///
  /// - Parameters:
  ///   - isolation: How strictly it is kept apart from others.
  ///   - deadline: When it is given up; also the timeout of each statement.
  ///   - body: What is done on its connection.
  /// - Throws: ``DatabaseError``, and what `body` throws.
  public func transaction<Value>(
    isolation: Isolation = .readCommitted, deadline: MonotonicInstant? = nil, _ body: (Transaction) async throws -> Value
  ) async throws -> Value {
    let part = currentPart ?? parts[0]
    let connection = try await onLoop(of: part) { part throws(DatabaseError) in try await part.lease(deadline: deadline) }
    let transaction = Transaction(self, part, connection, isolation, deadline)
    defer { transaction.release() }
    let value = try await body(transaction)
    _ = try await transaction.finish()
    return value
  }

  /// Runs `body` in a transaction as often as it takes, at most `attempts` times, while it loses against other transactions
  /// (SQLSTATE 40001, 40P01), with a growing pause between. `body` must have no effect outside the database.
  public func transaction<Value>(
    retrying attempts: Int, isolation: Isolation = .serializable, deadline: MonotonicInstant? = nil,
    _ body: (Transaction) async throws -> Value
  ) async throws -> Value {
    var backoff = Backoff(longest: .milliseconds(500))
    for attempt in 1... {
      do {
        return try await transaction(isolation: isolation, deadline: deadline, body)
      } catch let error as DatabaseError where error.sqlState?.isRetryable == true && attempt < attempts {
        let part = currentPart ?? parts[0]
        let pause = backoff.next()
        try await onLoop(of: part) { part in try await part.loop.sleep(for: pause) }
      }
    }
    throw DatabaseError(.aborted, "no attempt was allowed")
  }
}

// SAFETY: `state` is behind a lock; the connection is only used on its loop.
extension Transaction: @unchecked Sendable {}
