public import EventLoop
internal import Synchronization

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
/// It begins with its first statement, in the same round trip. One statement runs at a time.
public final class Transaction: QueryRunning {
  private enum Phase {
    case new
    case begun
    case ended
  }

  private let database: Database
  private let part: LoopDatabase
  private let connection: Connection
  private let isolation: Isolation
  private let deadline: MonotonicInstant?
  private let phase = Mutex(Phase.new)

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
  /// - Throws: ``DatabaseError``. After an error of the server's the transaction cannot be committed any more.
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

  private func run(_ queries: [Query], deadline: MonotonicInstant?) async throws(DatabaseError) -> [QueryResult] {
    let isFirst = try phase.withLock { phase throws(DatabaseError) in
      if case .ended = phase { throw DatabaseError(.misuse, "the transaction has ended") }
      defer { phase = .begun }
      return phase == .new
    }
    let prefix = isFirst ? beginning() : []
    let results = try await send(prefix + queries, deadline: min(deadline ?? .distantFuture, self.deadline ?? .distantFuture))
    return Array(results.dropFirst(prefix.count))
  }

  private func beginning() -> [Query] {
    let begin: Query =
      switch isolation {
      case .readCommitted: "begin"
      case .repeatableRead: "begin isolation level repeatable read"
      case .serializable: "begin isolation level serializable"
      }
    guard let timeout = part.pool.statementTimeout(until: deadline) else { return [begin] }
    return [begin, "select set_config('statement_timeout', \(String(timeout)), true)"]
  }

  private func send(_ queries: [Query], deadline: MonotonicInstant) async throws(DatabaseError) -> [QueryResult] {
    let deadline = deadline == .distantFuture ? nil : deadline
    return try await database.onLoop(of: part) { [connection] part throws(DatabaseError) in
      try await part.step(queries, on: connection, deadline: deadline)
    }
  }

  /// Commits what was done, if anything was.
  func commit() async throws(DatabaseError) {
    let hasBegun = phase.withLock { phase in
      defer { phase = .ended }
      return phase == .begun
    }
    guard hasBegun else { return }
    let results = try await send(["commit"], deadline: deadline ?? .distantFuture)
    // A failed transaction answers COMMIT with ROLLBACK and no error.
    guard results.last?.tag == "COMMIT" else {
      throw DatabaseError(.queryFailed, "a statement of the transaction had failed, so nothing was committed")
    }
  }

  /// Gives the connection back; what is not committed is rolled back by the pool.
  func release() {
    phase.withLock { $0 = .ended }
    if part.loop.isCurrent { return part.pool.release(connection) }
    part.loop.execute { [part, connection] in part.pool.release(connection) }
  }
}

extension Database {
  /// Runs `body` in a transaction and commits it; an error thrown by `body` rolls it back and is thrown on.
  ///
  /// A transaction whose statements are known beforehand takes one round trip with ``batch(deadline:_:)``; this one takes one
  /// per statement and one to commit.
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
    try await transaction.commit()
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

// SAFETY: `phase` is behind a lock; the connection is only used on its loop.
extension Transaction: @unchecked Sendable {}
