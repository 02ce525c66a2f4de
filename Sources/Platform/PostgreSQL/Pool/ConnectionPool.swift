internal import CPostgreSQL
internal import EventLoop
internal import Logging
internal import Values

/// The connections of one loop for writes, transactions and slow reads. Confined to its loop.
///
/// A connection is opened when somebody waits and none is free, up to the limit, and kept. A transaction that is known as a
/// whole borrows one by itself and gives it back when its sync is answered; a task that runs a transaction step by step leases
/// one. What comes back unfinished is settled first: its answer awaited, its transaction rolled back.
final class ConnectionPool: ConnectionOwner {
  /// What a connection of the pool is being used for.
  enum Use {
    case opening
    case idle
    case running
    case leased
    /// Given back before the server had answered, or inside a transaction.
    case settling
  }

  private let settings: ConnectionSettings
  private unowned let part: LoopDatabase
  private var connections: [Connection] = []
  private var idle: [Connection] = []
  private var queue = Ring<Request>()
  /// How many requests in the queue nobody waits for any more.
  private let abandoned = AbandonedCount()
  /// Before this moment those that are not counted are not looked for again.
  private var nextLook = MonotonicInstant(nanoseconds: 0)
  private var isClosed = false
  /// Armed after an attempt to connect has failed: until it fires there is no other.
  private let retryTimer = LoopTimer()
  private var backoff: Backoff
  /// What the last attempt failed with, when no connection was left; until the next attempt nobody is served.
  private var outage: DatabaseError?

  init(_ settings: ConnectionSettings, part: LoopDatabase) {
    self.settings = settings
    self.part = part
    backoff = Backoff(longest: settings.configuration.longestReconnectPause)
    retryTimer.onFire = { [unowned self] in
      outage = nil
      openWhatIsNeeded()
    }
  }

  private var loop: EventLoop { part.loop }
  private var configuration: DatabaseConfiguration { settings.configuration }

  // MARK: Requests

  /// Queues a transaction or lease, or starts it at once.
  func submit(_ request: Request) {
    if isClosed { return refuse(request, DatabaseError(.closed, "the database is shut down")) }
    if let connection = idle.popLast() { return start(request, on: connection) }
    if let reason = part.reader.outage ?? outage { return refuse(request, reason) }
    let now = MonotonicInstant.now()
    if queue.count >= configuration.poolQueueLimit { forgetAbandoned(now) }
    guard queue.count - abandoned.value < configuration.poolQueueLimit else {
      return refuse(request, DatabaseError(.poolExhausted, "too many tasks wait for a connection"))
    }
    request.queuedAt = now
    let latest = now.advanced(by: configuration.poolWait)
    if latest < request.deadline ?? .distantFuture {
      request.deadlineCode = .poolExhausted
      request.setTimer(at: latest)
    }
    request.line = abandoned
    queue.append(request)
    openWhatIsNeeded()
    countUse()
  }

  private func popFirst() -> Request? {
    let request = queue.popFirst()
    request?.leaveLine()
    return request
  }

  private func refuse(_ request: Request, _ error: DatabaseError) {
    request.resume(.failed(error))
    part.recycle(request)
  }

  /// Makes room in a queue that is full.
  ///
  /// To look at everybody for each request that comes would cost a storm O(n²): it is done when at least half of the queue has gone, so
  /// that it is paid for by those, and now and then for the reads of a group, which leave without being counted.
  private func forgetAbandoned(_ now: MonotonicInstant) {
    guard abandoned.value * 2 >= queue.count || now >= nextLook else { return }
    nextLook = now.advanced(by: .milliseconds(100))
    var kept = Ring<Request>()
    while let request = popFirst() {
      guard request.isAwaited else {
        part.recycle(request)
        continue
      }
      request.line = abandoned
      kept.append(request)
    }
    queue = kept
  }

  private func start(_ request: Request, on connection: Connection) {
    if let queuedAt = request.queuedAt {
      request.queuedAt = nil
      part.counters.poolWaits.increment(by: 1)
      part.counters.poolWaitNanoseconds.increment(by: Int(MonotonicInstant.now().nanoseconds &- queuedAt.nanoseconds))
    }
    request.deadlineCode = .deadlineExceeded
    request.setTimer(at: request.deadline)
    switch request.kind {
    case .lease:
      connection.use = .leased
      request.resume(.leased(connection))
      part.recycle(request)
    default:
      connection.use = .running
      request.preamble = preamble(of: request)
      if request.preamble != nil { request.meter?.add(statements: 1) }
      part.counters.queries.increment(by: request.queries.count)
      connection.send(transaction: request)
    }
    countUse()
  }

  /// Sets the statement timeout where the deadline is nearer than the session's, and how the commit is made where it matters.
  private func preamble(of request: Request) -> Query? {
    let timeout = statementTimeout(until: request.deadline)
    let milliseconds = timeout ?? configuration.statementTimeout.wholeMilliseconds
    if request.isRead {
      return """
        select set_config('transaction_read_only', 'on', true), set_config('statement_timeout', \(String(milliseconds)), true)
        """
    }
    if request.isRelaxed {
      return """
        select set_config('synchronous_commit', 'off', true), set_config('statement_timeout', \(String(milliseconds)), true)
        """
    }
    return timeout.map { "select set_config('statement_timeout', \(String($0)), true)" }
  }

  /// The milliseconds until `deadline`, or nil when the session's own timeout comes first.
  func statementTimeout(until deadline: MonotonicInstant?) -> Int64? {
    guard let deadline else { return nil }
    let remaining = deadline.duration(since: .now())
    return remaining < configuration.statementTimeout ? remaining.wholeMilliseconds : nil
  }

  // MARK: Connections

  /// The server answers others: whatever kept this pool from connecting may be over.
  func serverIsBack() {
    loop.disarm(retryTimer)
    backoff.reset()
    outage = nil
    openWhatIsNeeded()
  }

  private func openWhatIsNeeded() {
    guard !retryTimer.isArmed, !isClosed else { return }
    var opening = connections.count { $0.use == .opening }
    while opening < queue.count && connections.count < configuration.poolSize {
      let connection = Connection(
        settings, on: loop, blocking: part.blocking, log: part.log, counters: part.counters, owner: self)
      connections.append(connection)
      connection.open()
      opening += 1
    }
  }

  func connectionDidOpen(_ connection: Connection) {
    part.log.debug("a pool connection is open", metadata: ["pool": "\(connections.count)"])
    backoff.reset()
    offer(connection)
  }

  /// Gives a usable connection to whoever waits longest, or keeps it.
  private func offer(_ connection: Connection) {
    while let request = popFirst() {
      guard request.isAwaited else {
        part.recycle(request)
        continue
      }
      return start(request, on: connection)
    }
    connection.use = .idle
    idle.append(connection)
    countUse()
  }

  func connectionDidClose(_ connection: Connection, _ error: DatabaseError, unanswered: [Request]) {
    let wasOpening = connection.use == .opening
    connections.removeAll { $0 === connection }
    idle.removeAll { $0 === connection }
    for request in unanswered { lose(request, error) }
    if wasOpening && !isClosed {
      part.counters.failedConnections.increment(by: 1)
      // A server that has no slot left is not asked again as fast as it can refuse.
      if !retryTimer.isArmed { loop.arm(retryTimer, after: backoff.next()) }
      if connections.isEmpty {
        // Nobody else will serve them.
        outage = error
        while let request = popFirst() { refuse(request, error) }
      }
    }
    openWhatIsNeeded()
    countUse()
  }

  private func lose(_ request: Request, _ error: DatabaseError) {
    if request.isRead && request.attempts == 0 && request.isAwaited && !isClosed {
      request.attempts += 1
      request.restart()
      return submit(request)
    }
    let isWrite = request.kind != .lease && !request.isRead
    refuse(request, error.writing(mayHaveCommitted: isWrite))
  }

  // MARK: Coming back

  /// Takes a leased connection back, in whatever state it is.
  func release(_ connection: Connection) {
    // A cancel request that is still on its way would hit whatever runs here next: it comes back when that has returned.
    guard connection.isOpen, !connection.isBeingCancelled else { return }
    if connection.isOutdated { return replace(connection) }
    guard connection.isIdle else { return settle(connection, after: .milliseconds(500)) }
    guard connection.isInTransaction else { return offer(connection) }
    settle(connection, after: .seconds(5))
    let rollback = part.request(.step)
    rollback.queries.append("rollback")
    connection.send(transaction: rollback)
  }

  /// What led to the same server is of no use either; the loop's reads follow to the new primary.
  private func replace(_ connection: Connection) {
    let error = DatabaseError(.connectionLost, "the server is not the primary any more")
    part.log.warning(
      "the database only reads: connecting anew",
      metadata: ["host": "\(configuration.hosts[connection.hostIndex])"])
    for other in idle where other.hostIndex == connection.hostIndex { other.fail(error) }
    connection.fail(error)
    part.reader.leave(connection.hostIndex)
  }

  /// A connection whose answer nobody awaits gets some time; then the server is asked to give up, then it is closed.
  private func settle(_ connection: Connection, after patience: Duration) {
    connection.use = .settling
    connection.stallTimer.onFire = { [unowned self, unowned connection] in
      connection.cancelRunning()
      connection.stallTimer.onFire = { [unowned connection] in
        connection.fail(DatabaseError(.connectionLost, "the server did not give up a statement that nobody waits for"))
      }
      loop.arm(connection.stallTimer, after: .seconds(5))
    }
    loop.arm(connection.stallTimer, after: patience)
  }

  func connection(_ connection: Connection, didFinish request: Request) {
    let kind = request.kind
    request.resumeWithResults()
    part.recycle(request)
    switch connection.use {
    case .settling where connection.isBeingCancelled: break
    case .settling:
      loop.disarm(connection.stallTimer)
      release(connection)
    case .running where kind == .transaction: release(connection)
    default: break
    }
  }

  func connectionWasCancelled(_ connection: Connection) {
    // What was to be cancelled may not have ended yet: its answer brings the connection back then.
    guard connection.use == .settling, connection.isIdle else { return }
    loop.disarm(connection.stallTimer)
    release(connection)
  }

  func connection(_ connection: Connection, didAnswer read: Request, _ result: OpaquePointer) {
    PQclear(result)
  }

  func connection(_ connection: Connection, didFail read: Request, _ error: DatabaseError) {}

  /// Ends all connections; whoever waits is told so.
  func close() {
    isClosed = true
    loop.disarm(retryTimer)
    let error = DatabaseError(.closed, "the database is shut down")
    while let request = popFirst() { refuse(request, error) }
    for connection in connections { connection.fail(error) }
  }

  private func countUse() {
    part.counters.inUse.store(connections.count { $0.use != .idle && $0.use != .opening })
    part.counters.waiting.store(queue.count - abandoned.value)
    part.counters.poolConnections.store(connections.count)
  }
}
