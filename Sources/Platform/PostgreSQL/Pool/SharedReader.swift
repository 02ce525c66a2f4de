internal import CPostgreSQL
internal import EventLoop
internal import Logging

/// The one connection of a loop on which all its short reads travel together. Confined to its loop.
///
/// At most two segments are on their way: one that the server works on, and one that it finds when it is done. Whatever else is
/// asked meanwhile waits in memory, and leaves together at the end of the tick in which a segment has ended. So reads gather by
/// themselves when the server is slow, and what nobody awaits any more is never sent: a server that stood still has two segments
/// to work off, not everything that was asked since.
///
/// The connection is always open or being opened: while it is not open, the loop's database is not ready. What it loses when it
/// breaks was only reading, so it is sent once more over the next connection.
final class SharedReader: ConnectionOwner, EndOfTickWork {
  private enum State {
    case connecting
    case open
    /// The last attempt failed; the next follows after a pause. Until one succeeds, reads fail at once.
    case down(DatabaseError)
    case closed
  }

  /// One at work and one in front of the server's door: it never waits for us, and a third would only be late for whoever leaves.
  private static let segmentLimit = 2
  /// The most reads of one segment, which is what a server that stood still does in vain for each.
  static let segmentSize = 128
  /// How long those who left are not looked for again after a full queue has been searched.
  private static let searchPause = Duration.milliseconds(10)

  private let settings: ConnectionSettings
  private unowned let part: LoopDatabase
  private var connection: Connection?
  private var state = State.connecting
  private var isOpen = false
  private var waiting = Ring<Request>()
  /// Sent once already, and not answered for a reason that is not theirs: they leave before all others.
  private var repeating = Ring<Request>()
  private var segments = 0
  private var isScheduled = false
  private var nextSearch = MonotonicInstant.now()
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

  /// Opens the first connection, or the next.
  func connect() {
    if case .closed = state { return }
    let connection = Connection(
      settings, on: part.loop, blocking: part.blocking, log: part.log, counters: part.counters, owner: self)
    self.connection = connection
    connection.open()
  }

  // MARK: Waiting and leaving

  /// Keeps a read until the end of the tick, or until it is its turn.
  @inline(__always)
  func submit(_ request: Request) {
    guard isOpen, waiting.count < settings.configuration.pipelinedReadLimit else { return submitWithCare(request) }
    waiting.append(request)
    part.counters.waitingReads.store(waiting.count)
    schedule()
  }

  private func submitWithCare(_ request: Request) {
    switch state {
    case .down(let error): return refuse(request, error)
    case .closed: return refuse(request, DatabaseError(.closed, "the database is shut down"))
    case .connecting, .open: break
    }
    if waiting.count >= settings.configuration.pipelinedReadLimit { dropAbandoned() }
    guard waiting.count < settings.configuration.pipelinedReadLimit else {
      return refuse(request, DatabaseError(.poolExhausted, "too many reads wait for the database"))
    }
    waiting.append(request)
    part.counters.waitingReads.store(waiting.count)
    schedule()
  }

  private func refuse(_ request: Request, _ error: DatabaseError) {
    request.resume(.failed(error))
    part.recycle(request)
  }

  /// Makes room where the queue is full; not for each that is refused, since it looks at all of them.
  private func dropAbandoned() {
    let now = MonotonicInstant.now()
    guard now >= nextSearch else { return }
    nextSearch = now.advanced(by: Self.searchPause)
    for _ in 0..<waiting.count {
      guard let request = waiting.popFirst() else { return }
      if request.isAwaited { waiting.append(request) } else { part.recycle(request) }
    }
  }

  @inline(__always)
  private func schedule() {
    guard !isScheduled, isOpen, segments < Self.segmentLimit else { return }
    isScheduled = true
    part.loop.atEndOfTick(self)
  }

  func endOfTick() {
    isScheduled = false
    guard isOpen, let connection else { return }
    while segments < Self.segmentLimit, connection.isOpen, sendSegment(connection) {}
    part.counters.waitingReads.store(waiting.count)
  }

  /// Sends as many of those that wait as one segment takes.
  ///
  /// - Returns: Whether there was any.
  private func sendSegment(_ connection: Connection) -> Bool {
    var count = 0
    while count < Self.segmentSize, let request = repeating.first ?? waiting.first {
      if !request.isAwaited {
        dropFirst()
        part.recycle(request)
        continue
      }
      if request.standsAlone && count > 0 { break }
      dropFirst()
      connection.send(read: request)
      count += 1
      if request.standsAlone { break }
    }
    guard count > 0 else { return false }
    connection.endSegment()
    segments += 1
    return true
  }

  @inline(__always)
  private func dropFirst() {
    if repeating.isEmpty { _ = waiting.popFirst() } else { _ = repeating.popFirst() }
  }

  private func refuseAll(_ error: DatabaseError) {
    while let request = repeating.popFirst() { refuse(request, error) }
    while let request = waiting.popFirst() { refuse(request, error) }
    part.counters.waitingReads.store(0)
  }

  // MARK: The connection's news

  func connectionDidOpen(_ connection: Connection) {
    state = .open
    isOpen = true
    segments = 0
    backoff.reset()
    part.log.info("connected to the database", metadata: ["purpose": "reads"])
    part.readinessDidChange(true)
    part.pool.serverIsBack()
    part.loop.arm(heartbeat, after: settings.configuration.heartbeatPause)
    schedule()
  }

  func connectionDidClose(_ connection: Connection, _ error: DatabaseError, unanswered: [Request]) {
    self.connection = nil
    let wasOpen = isOpen
    isOpen = false
    part.loop.disarm(heartbeat)
    if case .closed = state {
      for request in unanswered { refuse(request, error) }
      return
    }
    part.log.warning("no connection to the database", metadata: ["reason": "\(error)"])
    if wasOpen {
      part.counters.reconnects.increment(by: 1)
      state = .connecting
      part.readinessDidChange(false)
      keep(unanswered, error)
      connect()
    } else {
      state = .down(error)
      refuseAll(error)
      part.loop.arm(timer, after: backoff.next())
    }
  }

  private func keep(_ unanswered: [Request], _ error: DatabaseError) {
    for request in unanswered {
      if request.isAwaited && request.attempts == 0 {
        request.attempts += 1
        repeating.append(request)
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

  func connection(_ connection: Connection, mustRepeat read: Request) {
    repeating.append(read)
    schedule()
  }

  func connectionDidEndSegment(_ connection: Connection) {
    segments -= 1
    if !waiting.isEmpty || !repeating.isEmpty { schedule() }
  }

  func connection(_ connection: Connection, didFinish request: Request) {}

  // MARK: A server that is gone without a word

  /// Asks something of a connection that nobody uses: a server that hangs, or a network that drops everything, shows by the
  /// answer that does not come. A connection in use shows it by itself.
  private func beat() {
    guard isOpen, let connection else { return }
    if connection.isIdle {
      let request = part.request(.read)
      request.query = "select 1"
      connection.send(read: request)
      connection.endSegment()
      segments += 1
    }
    part.loop.arm(heartbeat, after: settings.configuration.heartbeatPause)
  }

  /// Goes to another host, where there is one: this one takes no writes any more. What it has not answered is asked there.
  func leave(_ hostIndex: Int) {
    guard isOpen, let connection, connection.hostIndex == hostIndex,
      settings.configuration.hosts.count > 1
    else { return }
    connection.fail(DatabaseError(.connectionLost, "the server is not the primary any more"))
  }

  /// Ends the connection and the attempts to have one.
  func close() {
    state = .closed
    isOpen = false
    part.loop.disarm(timer)
    refuseAll(DatabaseError(.closed, "the database is shut down"))
    connection?.fail(DatabaseError(.closed, "the database is shut down"))
  }
}
