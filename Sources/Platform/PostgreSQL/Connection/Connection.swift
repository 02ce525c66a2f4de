internal import CPostgreSQL
internal import EventLoop
internal import Logging

/// One connection to the server, in libpq's pipeline mode, driven by its loop and never blocking it.
///
/// It sends what it is given, keeps account in a ``Pipeline``, and tells its owner about answers. Reads given during one tick
/// share one sync, sent at the tick's end; each transaction has its own. Confined to its loop.
// SAFETY: touched on its loop only; other threads only pass the reference back to the loop.
final class Connection: DescriptorHandler, EndOfTickWork, @unchecked Sendable {
  enum State {
    case new
    case resolving
    case connecting
    case open
    case closed
  }

  let loop: EventLoop
  let settings: ConnectionSettings
  let blocking: BlockingPool
  let log: Logger
  unowned let owner: any ConnectionOwner

  var state = State.new
  var pointer: OpaquePointer?
  var watch: DescriptorWatch?
  let connectTimer = LoopTimer()
  let stallTimer = LoopTimer()
  /// Hosts that have not been tried yet, and the one that was tried last.
  var candidates: [(index: Int, host: DatabaseConfiguration.Host)] = []
  var hostIndex = 0
  /// The server has refused a write because it only reads: it is the primary no more, and the connection is to be replaced.
  private(set) var isOutdated = false
  var pipeline = Pipeline<Request>()
  var statements = Statements()
  let arguments = ArgumentBuffer()
  /// Reads have been sent since the last sync.
  private var needsSync = false
  private var isScheduled = false
  /// A send failed in the middle of somebody's work: acted upon at the end of the tick.
  private var pendingFailure: DatabaseError?
  private var script: Request?
  /// Answers handed out since the tasks that wait for them had their turn.
  private var handedOut = 0
  private let counters: Counters?
  private(set) var lastProgress = MonotonicInstant.now()
  /// A cancel request is on its way to the server, which cannot say when it has come.
  private(set) var isBeingCancelled = false
  /// What its pool does with it.
  var use = ConnectionPool.Use.opening

  init(
    _ settings: ConnectionSettings, on loop: EventLoop, blocking: BlockingPool, log: Logger,
    counters: Counters? = nil, owner: any ConnectionOwner
  ) {
    self.settings = settings
    self.loop = loop
    self.blocking = blocking
    self.log = log
    self.counters = counters
    self.owner = owner
  }

  deinit { assert(pointer == nil, "a connection is closed before it is let go") }

  /// Whether requests can be sent.
  var isOpen: Bool { state == .open }
  /// Whether the server owes nothing.
  var isIdle: Bool { pipeline.isIdle && script == nil }
  /// Whether the session is inside a transaction, be it a failed one.
  var isInTransaction: Bool { pointer.map { PQtransactionStatus($0) != PQTRANS_IDLE } ?? false }

  // MARK: Sending

  /// Sends one read; its sync follows at the end of the tick, or with ``endSegment()``.
  func send(read request: Request) {
    guard let query = request.query else { return assertionFailure("a read without a query") }
    if pipeline.isIdle { startStallWatch() }
    counters?.queries.increment(by: 1)
    if request.standsAlone { sendAlone(query, of: request) } else { send(query, of: request, isRead: true) }
    needsSync = true
    schedule()
  }

  /// Ends the segment of the reads sent so far: an error of a later one does not touch them.
  func endSegment() {
    if needsSync { sync(nil) }
  }

  /// Sends the statements of a transaction (or of one step of it) and the sync that ends it.
  func send(transaction request: Request) {
    if needsSync { sync(nil) }
    if let preamble = request.preamble { send(preamble, of: request, isRead: false) }
    for query in request.queries { send(query, of: request, isRead: false) }
    sync(request)
    schedule()
  }

  /// Sends text that may hold many statements. Nothing else may be under way; results are not kept.
  func send(script request: Request) {
    assert(isIdle, "a script needs the connection for itself")
    script = request
    guard let pointer, PQexitPipelineMode(pointer) == 1, PQsendQuery(pointer, request.script) == 1 else {
      return failSoon("sending a script failed")
    }
    schedule()
  }

  private func send(_ query: borrowing Query, of request: Request, isRead: Bool) {
    let index = statements.index(of: query)
    let name = statements[index].name
    if statements[index].state == .unknown {
      statements.mark(index, .sent)
      prepare(query, as: name)
      pipeline.sent(.prepare(statement: index, request, isRead: isRead))
    }
    execute(query, as: name)
    pipeline.sent(isRead ? .read(request) : .step(request))
  }

  /// Sends a read that relies on nobody's PREPARE: what the server is not known to have it prepares for itself, under the empty
  /// name, which the next one takes over.
  private func sendAlone(_ query: borrowing Query, of request: Request) {
    if statements.isPrepared(query) { return send(query, of: request, isRead: true) }
    prepare(query, as: "")
    pipeline.sent(.prepare(statement: nil, request, isRead: true))
    execute(query, as: "")
    pipeline.sent(.read(request))
  }

  private func prepare(_ query: borrowing Query, as name: UnsafePointer<CChar>) {
    counters?.prepared.increment(by: 1)
    let types = query.parameterTypes.map(\.rawValue)
    let isSent = pointer.map { PQsendPrepare($0, name, query.text, Int32(types.count), types) } == 1
    if !isSent { failSoon("sending a statement failed") }
  }

  private func execute(_ query: borrowing Query, as name: UnsafePointer<CChar>) {
    let isSent = pointer.map { arguments.send(query, as: name, on: $0) } ?? false
    if !isSent { failSoon("sending a statement failed") }
  }

  private func sync(_ request: Request?) {
    if let pointer, pendingFailure == nil, PQpipelineSync(pointer) != 1 { failSoon("sending failed") }
    pipeline.sent(.sync(request))
    counters?.roundTrips.increment(by: 1)
    needsSync = false
  }

  private func failSoon(_ what: String) {
    if pendingFailure == nil { pendingFailure = .connection(pointer, what) }
    schedule()
  }

  private func schedule() {
    guard !isScheduled else { return }
    isScheduled = true
    loop.atEndOfTick(self)
  }

  func endOfTick() {
    isScheduled = false
    guard state == .open else { return }
    if needsSync { sync(nil) }
    if let pendingFailure { return fail(pendingFailure) }
    flush()
  }

  private func flush() {
    guard let pointer else { return }
    switch PQflush(pointer) {
    case 0: watch?.setInterest(.readable)
    case 1: watch?.setInterest([.readable, .writable])
    default: receive()  // what arrived before the connection broke still counts
    }
  }

  // MARK: Receiving

  func descriptorIsReady(_ readiness: Readiness) {
    switch state {
    case .connecting: pollConnecting()
    case .open:
      if readiness.contains(.writable) { flush() }
      if state == .open && (readiness.contains(.readable) || readiness.contains(.failed)) { receive() }
    case .new, .resolving, .closed: break
    }
  }

  private func receive() {
    guard let pointer else { return }
    let isAlive = PQconsumeInput(pointer) == 1
    lastProgress = loop.now
    takeResults(pointer)
    guard state == .open else { return }
    if settings.hearsNotifications { takeNotifications(pointer) }
    guard state == .open else { return }
    if !isAlive || PQstatus(pointer) == CONNECTION_BAD { fail(.connection(pointer, "the connection broke")) }
  }

  private func takeNotifications(_ pointer: OpaquePointer) {
    while state == .open, let notification = PQnotifies(pointer) {
      defer { PQfreemem(notification) }
      owner.connection(
        self, didHear: String(cString: notification.pointee.relname), String(cString: notification.pointee.extra))
    }
  }

  private func takeResults(_ pointer: OpaquePointer) {
    var nothings = 0
    handedOut = 0
    while state == .open && PQisBusy(pointer) == 0 {
      if handedOut >= Self.handful {
        // Those who were answered go on before the next results are read: what one of them has touched is still in the cache, and
        // the memory of its result serves the next.
        handedOut = 0
        loop.runWaitingJobs()
        continue
      }
      guard let result = PQgetResult(pointer) else {
        // libpq ends each statement with a null; two in a row mean that there is nothing more.
        if script != nil { return finishScript(pointer) }
        nothings += 1
        if nothings > 1 || pipeline.isIdle { return }
        continue
      }
      nothings = 0
      take(result)
    }
  }

  private func take(_ result: OpaquePointer) {
    let event: Pipeline<Request>.Event
    switch PQresultStatus(result) {
    case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: event = .success
    case PGRES_PIPELINE_SYNC: event = .sync
    case PGRES_PIPELINE_ABORTED: event = .aborted
    case PGRES_FATAL_ERROR:
      let severity = DatabaseError.field(.severity, of: result)
      if severity == nil || severity == "FATAL" || severity == "PANIC" {
        // The session's own end, not the statement's: whoever waits has not been answered.
        let error = DatabaseError(from: result)
        PQclear(result)
        return fail(.init(.connectionLost, error.message, sqlState: error.sqlState, severity: severity))
      }
      event = .failure
    default:
      PQclear(result)
      return fail(DatabaseError(.connectionLost, "COPY and its kin are not spoken on this connection"))
    }
    if let script {
      if event == .failure && script.failure == nil { script.failure = DatabaseError(from: result) }
      return PQclear(result)
    }
    perform(pipeline.handle(event), result)
  }

  /// Takes ownership of `result`.
  private func perform(_ action: Pipeline<Request>.Action, _ result: OpaquePointer) {
    switch action {
    case .answer(let request):
      handedOut += 1
      return owner.connection(self, didAnswer: request, result)
    case .collect(let request): return request.collect(result)
    case .none: break
    case .segmentEnded: owner.connectionDidEndSegment(self)
    case .prepared(let statement): statements.mark(statement, .prepared)
    case .unprepared(let statement): statements.mark(statement, .unknown)
    case .fail(let request, let statement): fail(request, statement, DatabaseError(from: result))
    case .resend(let request): resend(request)
    case .collectFailure(let request, let statement):
      if let statement { statements.mark(statement, .unknown) }
      if request.failure == nil { request.failure = DatabaseError(from: result) }
    case .finish(let request): finish(request)
    case .violation: fail(DatabaseError(.connectionLost, "the server answered what was not asked"))
    }
    PQclear(result)
  }

  /// Sends a read again that a neighbour's error kept from running.
  private func resend(_ request: Request) {
    request.abortions += 1
    if request.isAwaited {
      owner.connection(self, mustRepeat: request)
    } else {
      owner.connection(self, didFail: request, Self.unheard)
    }
  }

  private func fail(_ request: Request, _ statement: Int?, _ error: DatabaseError) {
    if let statement { statements.mark(statement, .unknown) }
    if let query = request.query, error.isStaleStatement, request.isAwaited {
      // The PREPARE that it relied on, in a segment before its own, was aborted there.
      let neverRan = error.sqlState == .invalidStatementName && !statements.isPrepared(query) && !request.standsAlone
      if neverRan { return resend(request) }
      if request.attempts == 0 {
        statements.forget(query)
        request.attempts += 1
        return owner.connection(self, mustRepeat: request)
      }
    }
    owner.connection(self, didFail: request, error)
  }

  private func finish(_ request: Request) {
    if let failure = request.failure, failure.sqlState == .readOnlyTransaction,
      settings.isForWrites, !request.isRead
    {
      isOutdated = true
      settings.preference.avoid(hostIndex)
      request.failure = DatabaseError(
        .connectionLost, "the server is not the primary any more: \(failure.message)",
        sqlState: failure.sqlState,
        severity: failure.severity)
    }
    if let failure = request.failure, failure.isStaleStatement {
      for query in request.queries { statements.forget(query) }
      if let preamble = request.preamble { statements.forget(preamble) }
      if request.kind == .transaction && request.attempts == 0 {
        // The whole segment was rolled back, so that sending it again does it once.
        request.attempts += 1
        request.restart()
        return send(transaction: request)
      }
    }
    owner.connection(self, didFinish: request)
  }

  private func finishScript(_ pointer: OpaquePointer) {
    guard let request = script else { return }
    script = nil
    guard PQenterPipelineMode(pointer) == 1 else { return fail(.connection(pointer, "the pipeline mode failed")) }
    owner.connection(self, didFinish: request)
  }

  /// How many reads are answered before their tasks go on. Few enough that results and tasks stay in a core's own cache, and enough
  /// that the code which reads results does too.
  private static let handful = 8

  private static let unheard = DatabaseError(.cancelled, "nobody waited any more")

  // MARK: The end

  /// Ends a connection that broke; the owner hears of it with what was left unanswered.
  func fail(_ error: DatabaseError) {
    guard state != .closed else { return }
    tearDown()
    var unanswered = pipeline.abandon()
    if let script { unanswered.append(script) }
    script = nil
    owner.connectionDidClose(self, error, unanswered: unanswered)
  }

  private func tearDown() {
    state = .closed
    loop.disarm(connectTimer)
    loop.disarm(stallTimer)
    connectTimer.onFire = {}
    stallTimer.onFire = {}
    watch?.cancel()
    watch = nil
    if let pointer {
      self.pointer = nil
      PQfinish(pointer)
    }
    loop.keepUntilEndOfTick(self)
  }

  // MARK: A server that says nothing

  private func startStallWatch() {
    lastProgress = loop.now
    guard !stallTimer.isArmed else { return }
    let limit = settings.configuration.stallTimeout
    stallTimer.onFire = { [unowned self] in
      guard !isIdle else { return }
      let silence = loop.now.duration(since: lastProgress)
      if silence >= limit { return fail(DatabaseError(.connectionLost, "the server has not answered for \(silence)")) }
      loop.arm(stallTimer, at: lastProgress.advanced(by: limit))
    }
    loop.arm(stallTimer, after: limit)
  }

  /// Asks the server to give up what it is running, over a connection of libpq's own, off the loop: the last resort.
  func cancelRunning() {
    guard let pointer, !isBeingCancelled, let handle = PQgetCancel(pointer) else { return }
    let cancel = CancelHandle(handle)
    isBeingCancelled = true
    loop.spawn { [self, blocking] in
      _ = try? await blocking.run { cancel.send() }
      isBeingCancelled = false
      if state == .open { owner.connectionWasCancelled(self) }
    }
  }
}

/// libpq's copy of what a cancel request needs.
// SAFETY: immutable, made to be used from another thread.
private final class CancelHandle: @unchecked Sendable {
  private let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  deinit { PQfreeCancel(pointer) }

  func send() {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { complaint in
      _ = PQcancel(pointer, complaint.baseAddress, 256)
    }
  }
}
