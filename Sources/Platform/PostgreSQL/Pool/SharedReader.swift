internal import CPostgreSQL
internal import EventLoop
internal import Logging

/// The one connection of a loop on which all its short reads travel together. Confined to its loop.
///
/// It is always open or being opened: while it is not open, the loop's database is not ready. What it loses when it breaks was
/// only reading, so it is sent once more over the next connection.
final class SharedReader: ConnectionOwner {
  private enum State {
    case connecting
    case open
    /// The last attempt failed; the next follows after a pause. Until one succeeds, reads fail at once.
    case down(DatabaseError)
    case closed
  }

  private let settings: ConnectionSettings
  private unowned let part: LoopDatabase
  private var connection: Connection?
  private var state = State.connecting
  private var pending = Ring<Request>()
  private var backoff: Backoff
  private let timer = LoopTimer()
  private let heartbeat = LoopTimer()

  init(_ settings: ConnectionSettings, part: LoopDatabase) {
    self.settings = settings
    self.part = part
    backoff = Backoff(longest: settings.configuration.longestReconnectPause)
    timer.onFire = { [unowned self] in connect() }
    heartbeat.onFire = { [unowned self] in beat() }
  }

  /// Why there is no connection and none expected at once; nil while there is hope.
  var outage: DatabaseError? {
    if case .down(let error) = state { return error }
    return nil
  }

  var isOpen: Bool {
    if case .open = state { return true }
    return false
  }

  /// Opens the first connection, or the next.
  func connect() {
    if case .closed = state { return }
    let connection = Connection(
      settings, on: part.loop, blocking: part.blocking, log: part.log, counters: part.counters, owner: self)
    self.connection = connection
    connection.open()
  }

  /// Sends a read at once, or as soon as the connection that is being opened is there.
  @inline(__always)
  func submit(_ request: Request) {
    if case .open = state, let connection, connection.pipeline.count < settings.configuration.pipelinedReadLimit {
      connection.send(read: request)
    } else {
      wait(request)
    }
  }

  private func wait(_ request: Request) {
    switch state {
    case .connecting where pending.count < settings.configuration.pipelinedReadLimit: pending.append(request)
    case .connecting, .open: refuse(request, DatabaseError(.poolExhausted, "too many reads are on their way"))
    case .down(let error): refuse(request, error)
    case .closed: refuse(request, DatabaseError(.closed, "the database is shut down"))
    }
  }

  private func refuse(_ request: Request, _ error: DatabaseError) {
    request.resume(.failed(error))
    part.recycle(request)
  }

  // MARK: The connection's news

  func connectionDidOpen(_ connection: Connection) {
    state = .open
    backoff.reset()
    part.log.info("connected to the database", metadata: ["purpose": "reads"])
    part.readinessDidChange(true)
    part.loop.arm(heartbeat, after: settings.configuration.heartbeatPause)
    while let request = pending.popFirst() {
      if request.isAwaited { connection.send(read: request) } else { part.recycle(request) }
    }
  }

  func connectionDidClose(_ connection: Connection, _ error: DatabaseError, unanswered: [Request]) {
    self.connection = nil
    part.loop.disarm(heartbeat)
    if case .closed = state {
      for request in unanswered { refuse(request, error) }
      return
    }
    part.log.warning("no connection to the database", metadata: ["reason": "\(error)"])
    if isOpen {
      part.counters.reconnects.increment(by: 1)
      state = .connecting
      part.readinessDidChange(false)
      keep(unanswered, error)
      connect()
    } else {
      state = .down(error)
      while let request = pending.popFirst() { refuse(request, error) }
      part.loop.arm(timer, after: backoff.next())
    }
  }

  private func keep(_ unanswered: [Request], _ error: DatabaseError) {
    for request in unanswered {
      if request.isAwaited && request.attempts == 0 {
        request.attempts += 1
        pending.append(request)
      } else {
        refuse(request, error)
      }
    }
  }

  @inline(__always)
  func connection(_ connection: Connection, didAnswer read: Request, _ result: OpaquePointer) {
    if read.isAwaited { read.resume(.result(QueryResult(result))) } else { PQclear(result) }
    part.recycle(read)
  }

  func connection(_ connection: Connection, didFail read: Request, _ error: DatabaseError) {
    if error.sqlState == .queryCanceled && read.isAwaited {
      part.counters.slowReads.increment(by: 1)
      read.kind = .transaction
      if let query = read.query { read.queries = [query] }
      read.isRead = true
      read.attempts = 0
      return part.pool.submit(read)
    }
    refuse(read, error)
  }

  func connection(_ connection: Connection, didFinish request: Request) {}

  // MARK: A server that is gone without a word

  /// Asks something of a connection that nobody uses: a server that hangs, or a network that drops everything, shows by the
  /// answer that does not come. A connection in use shows it by itself.
  private func beat() {
    guard case .open = state, let connection else { return }
    if connection.isIdle {
      let request = part.request(.read)
      request.query = "select 1"
      connection.send(read: request)
    }
    part.loop.arm(heartbeat, after: settings.configuration.heartbeatPause)
  }

  /// Ends the connection and the attempts to have one.
  func close() {
    state = .closed
    part.loop.disarm(timer)
    let error = DatabaseError(.closed, "the database is shut down")
    while let request = pending.popFirst() { refuse(request, error) }
    connection?.fail(error)
  }
}
