internal import EventLoop
internal import Logging

/// The part of a ``Database`` that lives on one loop: its read connection, its pool, its recycled requests.
// SAFETY: all but `loop`, `counters` and the other constants is touched on the loop only, which debug builds assert.
final class LoopDatabase: @unchecked Sendable {
  let loop: EventLoop
  let blocking: BlockingPool
  let log: Logger
  let configuration: DatabaseConfiguration
  let counters = Counters()
  private let health: Health
  private let observer: (any StatementObserver)?
  /// Whether there is an observer or a meter: asked before each read, and cheaper than to look at an existential.
  private let isObserved: Bool
  private var recycled: [Request] = []
  private(set) var reader: SharedReader!
  private(set) var pool: ConnectionPool!

  init(
    _ configuration: DatabaseConfiguration, on loop: EventLoop, blocking: BlockingPool, health: Health, log: Logger,
    observer: (any StatementObserver)? = nil
  ) {
    self.configuration = configuration
    self.loop = loop
    self.blocking = blocking
    self.health = health
    self.log = log
    self.observer = observer
    isObserved = observer != nil || configuration.meter != nil
    let preference = HostPreference()
    reader = SharedReader(.reads(configuration, preference), part: self)
    pool = ConnectionPool(.pool(configuration, preference), part: self)
  }

  func readinessDidChange(_ isReady: Bool) {
    counters.isReady.store(isReady ? 1 : 0)
    health.loopDidChange(isReady)
  }

  // MARK: Requests

  @inline(__always)
  func request(_ kind: Request.Kind) -> Request {
    loop.assertInLoop()
    let request = recycled.popLast() ?? Request(on: loop)
    request.kind = kind
    return request
  }

  @inline(__always)
  func recycle(_ request: Request) {
    request.recycle()
    if recycled.count < 1024 { recycled.append(request) }
  }

  // MARK: What tasks on the loop call

  func read(_ query: Query, deadline: MonotonicInstant?) async throws(DatabaseError) -> QueryResult {
    if isObserved { return try await observedRead(query, deadline) }
    return try await unobservedRead(query, deadline)
  }

  // A function of its own: what it needs would make the frame of every read larger than the memory that its task has at hand.
  @inline(never)
  private func observedRead(_ query: Query, _ deadline: MonotonicInstant?)
    async throws(DatabaseError) -> QueryResult
  {
    meter?.add([query])
    guard let observer else { return try await unobservedRead(query, deadline) }
    return try await observed([query], by: observer) { () async throws(DatabaseError) in
      try await unobservedRead(query, deadline)
    }
  }

  @inline(__always)
  private func unobservedRead(_ query: Query, _ deadline: MonotonicInstant?) async throws(DatabaseError) -> QueryResult {
    try refuseLate(deadline)
    try query.mustBeStorable()
    let request = request(.read)
    request.query = query
    request.deadline = deadline
    return try await request.wait { reader.submit($0) }.result()
  }

  /// Runs several reads that travel together, and answers when all are there.
  func readAll(_ queries: [Query], deadline: MonotonicInstant?) async throws(DatabaseError)
    -> [QueryResult]
  {
    meter?.add(queries)
    guard let observer else { return try await unobservedReadAll(queries, deadline) }
    return try await observed(queries, by: observer) { () async throws(DatabaseError) in
      try await unobservedReadAll(queries, deadline)
    }
  }

  private func unobservedReadAll(_ queries: [Query], _ deadline: MonotonicInstant?) async throws(DatabaseError) -> [QueryResult] {
    try refuseLate(deadline)
    for query in queries { try query.mustBeStorable() }
    // Kept by its reads, some of which may be on their way when nobody waits any more: so it is never recycled.
    let group = Request(on: loop)
    group.kind = .reads
    group.deadline = deadline
    return try await group.wait { group in
      group.expect(queries.count)
      for (position, query) in queries.enumerated() {
        let read = request(.read)
        read.query = query
        read.deadline = deadline
        read.join(group, at: position)
        reader.submit(read)
      }
    }.results()
  }

  func run(
    _ queries: [Query], deadline: MonotonicInstant?, isRelaxed: Bool
  ) async throws(DatabaseError) -> [QueryResult] {
    guard let observer else { return try await unobservedRun(queries, deadline, isRelaxed) }
    return try await observed(queries, by: observer) { () async throws(DatabaseError) in
      try await unobservedRun(queries, deadline, isRelaxed)
    }
  }

  private func unobservedRun(
    _ queries: [Query], _ deadline: MonotonicInstant?, _ isRelaxed: Bool
  ) async throws(DatabaseError) -> [QueryResult] {
    try refuseLate(deadline)
    for query in queries { try query.mustBeStorable() }
    let request = request(.transaction)
    let meter = meter
    meter?.add(queries)
    request.queries = meter == nil ? queries : queries + [StatementMeter.probe]
    request.meter = meter
    request.isRelaxed = isRelaxed
    request.deadline = deadline ?? latestEnd()
    let results = try await request.wait { pool.submit($0) }.results()
    guard let meter else { return results }
    meter.note(probe: results.last)
    return results.dropLast()
  }

  /// Who counts what the calling task costs.
  var meter: StatementMeter? {
    guard let meter = configuration.meter else { return nil }
    return StatementMeter.current ?? meter
  }

  func lease(deadline: MonotonicInstant?) async throws(DatabaseError) -> Connection {
    try refuseLate(deadline)
    let request = request(.lease)
    request.deadline = deadline ?? latestEnd()
    return try await request.wait { pool.submit($0) }.connection()
  }

  func step(
    _ queries: [Query], on connection: Connection, deadline: MonotonicInstant?
  ) async throws(DatabaseError) -> [QueryResult] {
    guard let observer else { return try await unobservedStep(queries, connection, deadline) }
    return try await observed(queries, by: observer) { () async throws(DatabaseError) in
      try await unobservedStep(queries, connection, deadline)
    }
  }

  private func unobservedStep(
    _ queries: [Query], _ connection: Connection, _ deadline: MonotonicInstant?
  ) async throws(DatabaseError) -> [QueryResult] {
    guard connection.isOpen else { throw DatabaseError(.connectionLost, "the connection of the transaction broke") }
    guard connection.isIdle else { throw DatabaseError(.misuse, "a transaction runs one statement at a time") }
    try refuseLate(deadline)
    let request = request(.step)
    request.queries = queries
    request.deadline = deadline ?? latestEnd()
    counters.queries.increment(by: queries.count)
    meter?.add(queries)
    return try await request.wait { connection.send(transaction: $0) }.results()
  }

  /// What nobody can wait for any more is not sent.
  @inline(__always)
  private func refuseLate(_ deadline: MonotonicInstant?) throws(DatabaseError) {
    if let deadline, deadline <= .now() { throw DatabaseError(.deadlineExceeded, "the deadline had passed before the call") }
  }

  /// When even a request without a deadline is given up: the server's own timeout should have ended it before.
  private func latestEnd() -> MonotonicInstant {
    loop.now.advanced(by: configuration.poolWait + configuration.statementTimeout + .seconds(5))
  }
}

extension Request.Outcome {
  func result() throws(DatabaseError) -> QueryResult {
    switch self {
    case .result(let result): return result
    case .results(let results): if let last = results.last { return last }
    case .failed(let error): throw error
    case .leased: break
    }
    throw DatabaseError(.misuse, "the statement has no result")
  }

  func results() throws(DatabaseError) -> [QueryResult] {
    switch self {
    case .result(let result): [result]
    case .results(let results): results
    case .failed(let error): throw error
    case .leased: []
    }
  }

  func connection() throws(DatabaseError) -> Connection {
    switch self {
    case .leased(let connection): connection
    case .failed(let error): throw error
    case .result, .results: throw DatabaseError(.misuse, "a lease has no result")
    }
  }
}
