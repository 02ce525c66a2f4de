internal import EventLoop

/// How many of the requests in a queue nobody waits for any more.
final class AbandonedCount {
  var value = 0
}

/// One thing that a task waits for: a read, a transaction's segment, or a connection from the pool.
///
/// Requests are recycled by their loop. The task that waits may leave early (deadline, cancellation); the request then stays
/// in its queue, without anybody waiting, until its answer has come and gone, so that no answer is ever taken for another's.
// SAFETY: touched on its loop only; other threads only pass the reference to `cancel`, which goes to the loop first.
final class Request: @unchecked Sendable {
  enum Outcome {
    case result(QueryResult)
    case results([QueryResult])
    case leased(Connection)
    case failed(DatabaseError)
  }

  enum Kind {
    /// A single SELECT on the shared connection.
    case read
    /// Several of those, for a task that waits for all of them; it is in no queue itself.
    case reads
    /// Statements that are one implicit transaction, on any connection of the pool.
    case transaction
    /// A connection of the pool for a task that will use it alone.
    case lease
    /// Statements on a connection that the task has leased.
    case step
    /// Text without parameters, of any number of statements.
    case script
  }

  let loop: EventLoop
  var kind = Kind.read
  /// The one query of a read.
  var query: Query?
  /// The statements of anything else.
  var queries: [Query] = []
  /// Sent before the queries, in the same segment; its result is nobody's.
  var preamble: Query?
  private var collected = 0
  /// Whether the transaction is a read that was too slow for the shared connection.
  var isRead = false
  /// Who counts what the request costs.
  var meter: StatementMeter?
  /// Whether the commit need not wait for the disk.
  var isRelaxed = false
  var script = ""
  /// What the transaction has returned so far.
  var results: [QueryResult] = []
  var failure: DatabaseError?
  var deadline: MonotonicInstant?
  /// When it began to wait for a connection of the pool; nil when it did not have to.
  var queuedAt: MonotonicInstant?
  /// How often the request has been sent, and how often a neighbour's error aborted it.
  var attempts = 0
  var abortions = 0
  var isCancelled = false
  /// Who counts it when its task leaves while it stands in a queue; nil outside of one.
  var line: AbandonedCount?
  private var hasLeft = false
  private var generation = 0
  private var continuation: UnsafeContinuation<Outcome, Never>?
  private let timer = LoopTimer()
  /// The request that waits for this read among others, and which of them it is.
  private var group: Request?
  private var position = 0
  /// How many reads of a group have not been answered.
  private var missing = 0
  private var answers: [QueryResult?] = []
  /// What to say when the deadline passes, decided by whoever set it.
  var deadlineCode = DatabaseError.Code.deadlineExceeded

  init(on loop: EventLoop) {
    self.loop = loop
    timer.onFire = { [unowned self] in expire() }
  }

  /// Whether a task still waits for the answer.
  var isAwaited: Bool { continuation != nil || group?.isAwaited == true }

  /// Whether a read gets a segment of its own: it was aborted twice, and two neighbours that failed are enough. So n failures cost
  /// O(n), not O(n²).
  var standsAlone: Bool { abortions >= 2 }

  /// Suspends the calling task, which must run on the loop, until somebody calls ``resume(_:)``.
  ///
  /// `start` queues the request; it is not called when the task is cancelled already.
  @inline(__always)
  func wait(_ start: (Request) -> Void) async -> Outcome {
    let generation = generation
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        if isCancelled { return continuation.resume(returning: .failed(Self.cancellation)) }
        self.continuation = continuation
        if let deadline { loop.arm(timer, at: deadline) }
        start(self)
      }
    } onCancel: {
      cancel(generation)
    }
  }

  /// Lets the waiting task, if it is still there, go on.
  func resume(_ outcome: Outcome) {
    guard let continuation else { return resumeGroup(outcome) }
    self.continuation = nil
    loop.disarm(timer)
    continuation.resume(returning: outcome)
  }

  // MARK: Groups

  /// Waits for so many reads.
  func expect(_ count: Int) {
    missing = count
    answers = Array(repeating: nil, count: count)
  }

  /// Makes this read one of those that `group` waits for.
  func join(_ group: Request, at position: Int) {
    self.group = group
    self.position = position
  }

  private func resumeGroup(_ outcome: Outcome) {
    guard let group else { return }
    self.group = nil
    loop.disarm(timer)
    group.take(outcome, at: position)
  }

  /// The first error ends the wait for all.
  private func take(_ outcome: Outcome, at position: Int) {
    guard isAwaited else { return }
    switch outcome {
    case .failed, .leased: return resume(outcome)
    case .result(let result): answers[position] = result
    case .results(let results): answers[position] = results.last
    }
    missing -= 1
    if missing == 0 { resume(.results(answers.compactMap(\.self))) }
  }

  // MARK: Transactions

  /// Keeps a result of the transaction; takes ownership of it.
  func collect(_ result: OpaquePointer) {
    let result = QueryResult(result)
    if preamble == nil || collected > 0 { results.append(result) }
    collected += 1
  }

  /// Forgets what came back, before the same is sent again.
  func restart() {
    results = []
    failure = nil
    collected = 0
  }

  /// Lets the task of an ended transaction go on, with its results or its error.
  func resumeWithResults() {
    guard isAwaited else { return }
    resume(failure.map { .failed($0) } ?? .results(results))
  }

  /// Moves the moment at which the wait is given up.
  func setTimer(at deadline: MonotonicInstant?) {
    if let deadline, isAwaited { loop.arm(timer, at: deadline) } else { loop.disarm(timer) }
  }

  /// Makes the request new again. Nobody may wait for it, and no queue may hold it.
  func recycle() {
    assert(continuation == nil, "a task still waits")
    assert(line == nil, "a queue still holds it")
    loop.disarm(timer)
    generation += 1
    query = nil
    group = nil
    if !queries.isEmpty { queries = [] }
    script = ""
    preamble = nil
    isRead = false
    isRelaxed = false
    meter = nil
    restart()
    deadline = nil
    deadlineCode = .deadlineExceeded
    attempts = 0
    abortions = 0
    isCancelled = false
    queuedAt = nil
  }

  private func cancel(_ generation: Int) {
    guard loop.isCurrent else {
      if !loop.execute({ self.cancel(generation) }) { giveUp(generation) }
      return
    }
    guard generation == self.generation else { return }
    isCancelled = true
    leave(with: Self.cancellation)
  }

  /// The task goes; the request stays where it is.
  private func leave(with error: DatabaseError) {
    if let line, continuation != nil, !hasLeft {
      hasLeft = true
      line.value += 1
    }
    resume(.failed(error))
  }

  /// It is taken out of its queue.
  func leaveLine() {
    if hasLeft { line?.value -= 1 }
    (line, hasLeft) = (nil, false)
  }

  /// Lets the task go on whose loop has ended: nobody else touches the request any more.
  private func giveUp(_ generation: Int) {
    guard generation == self.generation, let continuation else { return }
    self.continuation = nil
    continuation.resume(returning: .failed(Self.cancellation))
  }

  private func expire() {
    let message =
      deadlineCode == .poolExhausted ? "no connection became free in time" : "the deadline passed before the database answered"
    leave(with: .init(deadlineCode, message))
  }

  private static let cancellation = DatabaseError(.cancelled, "the task was cancelled")
}
