public import EventLoop
public import Logging

/// A PostgreSQL database, as all loops of a process use it.
///
/// Each loop has its own connections: one on which all its short reads travel together (``reads``), and a small pool for
/// writes and transactions. A call made on a loop uses that loop's connections and never leaves its thread; a call from
/// elsewhere is run on the first loop.
///
/// It starts to connect when it is made and connects again whenever it must, until ``shutDown()``. While it cannot, calls fail
/// at once with `connectionLost`.
public final class Database: Sendable {
  /// What the database was made with.
  public let configuration: DatabaseConfiguration
  let group: EventLoopGroup
  let parts: [LoopDatabase]
  let health: Health
  let log: Logger

  /// Starts to connect, on every loop of `group`.
  ///
  /// - Parameters:
  ///   - configuration: The address and the limits.
  ///   - group: The loops, each with connections of its own.
  ///   - log: Who is told of connections that come and go.
  ///   - observer: Who sees the statements that are run, or nil.
  /// - Throws: ``DatabaseError`` with `invalidConfiguration`.
  public init(
    _ configuration: DatabaseConfiguration, group: EventLoopGroup, log: Logger, observer: (any StatementObserver)? = nil
  ) throws(DatabaseError) {
    try configuration.validate()
    self.configuration = configuration
    self.group = group
    self.log = log
    let health = Health(loops: group.loops.count)
    self.health = health
    parts = group.loops.map {
      LoopDatabase(configuration, on: $0, blocking: group.blocking, health: health, log: log, observer: observer)
    }
    for part in parts { part.loop.execute { part.reader.connect() } }
  }

  /// Single SELECTs that are short: all of one loop share one connection and one round trip per tick.
  ///
  /// Whatever takes longer than the read timeout is run once more on the pool. Nothing can be written here.
  public var reads: Reads { Reads(database: self) }

  /// Single statements whose commit does not wait for the disk: for what may be lost when the server crashes, such as counts.
  ///
  /// What they have done is seen by everybody once they are answered. A crash of the server, and of nothing else, takes back the
  /// last of it: at most three times `wal_writer_delay`, 0.6 s. Others who commit durably meanwhile make it durable, too.
  public var relaxed: Relaxed { Relaxed(database: self) }

  /// Closes all connections. Calls under way fail with `closed`.
  public func shutDown() async {
    for part in parts {
      await part.loop.visit(ifStopped: ()) {
        part.reader.close()
        part.pool.close()
      }
    }
  }

  // MARK: Health

  /// Whether every loop has its read connection.
  public var isReady: Bool { health.isReady }

  /// Whether the loop that the caller is on has its read connection.
  public var isReadyHere: Bool { (currentPart ?? parts[0]).counters.isReady.current == 1 }

  /// Calls `observer` now and after every change of ``isReady``, on whatever loop noticed it. It must not block.
  public func onReadinessChange(_ observer: @escaping @Sendable (Bool) -> Void) { health.observe(observer) }

  /// Suspends until ``isReady``; returns early when the task is cancelled.
  public func waitUntilReady() async { await health.waitUntilReady() }

  /// What the connections are doing and have done.
  public var statistics: DatabaseStatistics {
    var statistics = DatabaseStatistics()
    for part in parts { statistics.add(part.counters) }
    return statistics
  }

  // MARK: Finding the loop

  @inline(__always)
  var currentPart: LoopDatabase? {
    for part in parts where part.loop.isCurrent { return part }
    return nil
  }

  /// Runs `body` on a part's loop for a caller that is elsewhere.
  func onLoop<Value: Sendable, Failure: Error>(
    of part: LoopDatabase, _ body: @Sendable (LoopDatabase) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await part.loop.visit { () async throws(Failure) -> Value in try await body(part) }
  }
}

/// The shared read connections of a ``Database``.
public struct Reads: QueryRunning {
  let database: Database

  /// Runs one SELECT.
  public func run(_ query: Query, deadline: MonotonicInstant? = nil) async throws(DatabaseError) -> QueryResult {
    if let part = database.currentPart { return try await part.read(query, deadline: deadline) }
    return try await database.onLoop(of: database.parts[0]) { part throws(DatabaseError) in
      try await part.read(query, deadline: deadline)
    }
  }
}

/// Statements of a ``Database`` whose commit does not wait for the disk; see ``Database/relaxed``.
public struct Relaxed: QueryRunning {
  let database: Database

  /// Runs one statement as a transaction of its own, on the pool.
  public func run(_ query: Query, deadline: MonotonicInstant? = nil) async throws(DatabaseError)
    -> QueryResult
  {
    let results = try await database.runBatch([query], deadline: deadline, isRelaxed: true)
    guard let result = results.last else {
      throw DatabaseError(.misuse, "the statement has no result")
    }
    return result
  }
}

extension Database: QueryRunning {
  /// Runs one statement as a transaction of its own, on the pool; for writes, and reads known to be slow.
  public func run(_ query: Query, deadline: MonotonicInstant? = nil) async throws(DatabaseError) -> QueryResult {
    let results = try await runBatch([query], deadline: deadline)
    guard let result = results.last else { throw DatabaseError(.misuse, "the statement has no result") }
    return result
  }

  /// Runs one statement as a transaction of its own, in one round trip.
  ///
  /// - Returns: How many rows it touched.
  /// - Throws: ``DatabaseError``; with `mayHaveCommitted` set when the connection broke before the answer came.
  @discardableResult
  public func execute(_ query: Query, deadline: MonotonicInstant? = nil) async throws(DatabaseError) -> Int {
    try await run(query, deadline: deadline).affectedRows
  }

  func runBatch(
    _ queries: [Query], deadline: MonotonicInstant?, isRelaxed: Bool = false
  ) async throws(DatabaseError) -> [QueryResult] {
    if let part = currentPart {
      return try await part.run(queries, deadline: deadline, isRelaxed: isRelaxed)
    }
    return try await onLoop(of: parts[0]) { part throws(DatabaseError) in
      try await part.run(queries, deadline: deadline, isRelaxed: isRelaxed)
    }
  }
}
