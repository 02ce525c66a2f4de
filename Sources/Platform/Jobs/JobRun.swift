internal import EventLoop
public import PostgreSQL
internal import Synchronization
public import Values

/// One run of a job, as its handler sees it.
///
/// The worker prolongs its lease by itself. Every write names the lease, so a run that has lost it changes nothing any more and is
/// told so by ``JobError/Code/leaseLost``; its task is cancelled as soon as the worker knows.
public final class JobRun: Sendable {
  /// The job.
  public let id: UUID
  /// The name of its kind.
  public let kind: String
  /// The version of the payload's form.
  public let version: Int
  /// What it carries.
  public let payload: [UInt8]
  /// Whose it is, if it is somebody's.
  public let user: UUID?
  /// Which attempt this is, from 1.
  public let attempt: Int
  /// How many attempts it has.
  public let maximumAttempts: Int
  /// Counts the claims of this job; a fencing token for whatever lies outside the database.
  public let lease: Int64
  /// When it was enqueued.
  public let enqueuedAt: Instant

  private struct State {
    var steps: [String: [UInt8]]?
    var leaseEnd: MonotonicInstant
    var isLost = false
    /// The end of the job is committed.
    var hasEnded = false
    /// A transaction of the handler's own has finished the job, if it was committed.
    var mayBeFinished = false
  }

  private let queue: JobQueue
  private let state: Mutex<State>

  init(_ claimed: ClaimedJob, of queue: JobQueue, leaseEnd: MonotonicInstant) {
    id = claimed.id
    kind = claimed.kind
    version = claimed.version
    payload = claimed.payload
    user = claimed.user
    attempt = claimed.attempt
    maximumAttempts = claimed.maximumAttempts
    lease = claimed.lease
    enqueuedAt = claimed.enqueuedAt
    self.queue = queue
    // A job without finished steps needs not ask for them.
    state = Mutex(State(steps: claimed.steps == 0 ? [:] : nil, leaseEnd: leaseEnd))
  }

  // MARK: Steps

  /// Does something that must not be done again once it is done, and keeps what it came to.
  ///
  /// When the job is run again, after a crash or a failure further on, `body` is not called and the kept result is returned. If
  /// the process dies between the effect and the checkpoint, the step is done again: give a provider the job's id and the step's
  /// name as its idempotency key.
  ///
  /// - Parameters:
  ///   - name: Unique within the job.
  ///   - body: Returns at most 1 MiB.
  /// - Throws: What `body` throws, ``JobError`` with `leaseLost`, or the database's error.
  public func step(_ name: String, _ body: () async throws -> [UInt8]) async throws -> [UInt8] {
    if let result = try await result(of: name) { return result }
    try checkLease()
    let result = try await body()
    try await keep(result, of: name, in: nil)
    return result
  }

  /// Does something once that has no result; see `step`.
  public func step(_ name: String, _ body: () async throws -> Void) async throws {
    _ = try await step(name) {
      try await body()
      return []
    }
  }

  /// Does something once whose result is text; see `step`.
  public func step(_ name: String, _ body: () async throws -> String) async throws -> String {
    let bytes = try await step(name) { Array(try await body().utf8) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// What a finished step came to; nil when it has not been finished.
  public func result(of step: String) async throws -> [UInt8]? {
    if let steps = state.withLock({ $0.steps }) { return steps[step] }
    let steps = try await queue.steps(of: id)
    state.withLock { $0.steps = steps }
    return steps[step]
  }

  /// Keeps the result of a step in a transaction of the handler's, together with whatever else it writes there.
  ///
  /// - Throws: ``JobError`` with `leaseLost`, which must be let through so that the transaction is rolled back.
  public func checkpoint(_ step: String, _ result: [UInt8] = [], in transaction: Transaction) async throws {
    try await keep(result, of: step, in: transaction)
  }

  private func keep(_ result: [UInt8], of step: String, in transaction: Transaction?) async throws {
    guard result.count <= NewJob.longestPayload else {
      throw JobFailure.permanent("the result of step \(step) is longer than 1 MiB")
    }
    guard try await queue.checkpoint(id, lease, step, result, in: transaction) else { throw lost() }
    // In a transaction it is known only once that is committed: ask the database again then.
    state.withLock { state in
      if transaction == nil { state.steps?[step] = result } else { state.steps = nil }
    }
  }

  // MARK: Fencing

  /// Makes sure that the run has its lease, and that nobody else gets the job before the transaction ends.
  ///
  /// Call it first in a transaction whose effects must not be those of two runs. Keep that transaction short: while it is open,
  /// the lease is not prolonged.
  ///
  /// - Throws: ``JobError`` with `leaseLost`.
  public func fence(in transaction: Transaction) async throws {
    guard try await queue.fence(id, lease, in: transaction) else { throw lost() }
  }

  /// Does all that `body` adds as one transaction in one round trip, if the run has its lease: as with ``fence(in:)``, nobody else gets
  /// the job before it is committed.
  ///
  /// - Parameters:
  ///   - first: Statements before the job's own lock: those that take locks which others take first, too.
  ///   - progress: What operators are told with it; see ``report(_:of:_:)``.
  ///   - step: A step that is finished with it; see ``checkpoint(_:_:in:)``.
  ///   - isLast: Whether the job ends with it; see ``finish(in:)``.
  ///   - body: Adds statements.
  /// - Returns: What each of them answered, without those of `first`.
  /// - Throws: ``JobError`` with `leaseLost`, or the database's error.
  @discardableResult
  public func commit(
    behind first: [Query] = [], reporting progress: Progress? = nil, finishing step: String? = nil, ending isLast: Bool = false,
    _ body: (inout Batch) -> Void
  ) async throws -> BatchResults {
    // Whoever prolongs leases may see the job gone before this one hears of it.
    if isLast { state.withLock { $0.mayBeFinished = true } }
    let results: BatchResults
    do throws(DatabaseError) {
      results = try await queue.database.batch { batch in
        for query in first { batch.add(query) }
        batch.add(queue.hold(id, lease, reporting: progress))
        body(&batch)
        if let step { batch.add(queue.checkpoint(id, lease, step, [])) }
        if isLast { batch.add(queue.ends([runID])) }
      }
    } catch {
      throw error.sqlState == JobQueue.leaseLost ? lost() : error
    }
    state.withLock { state in
      if let step { state.steps?[step] = [] }
      if isLast { state.hasEnded = true }
    }
    let own = results.results.dropFirst(first.count + 1).dropLast((step == nil ? 0 : 1) + (isLast ? 1 : 0))
    return BatchResults(results: Array(own))
  }

  /// Asks, as a condition within a statement, whether another run of this queue has its lease. It may lose it at any moment after that, or
  /// end.
  ///
  /// - Parameters:
  ///   - job: The other job's ``id``, as the statement has it.
  ///   - lease: The other run's ``lease``, as the statement has it.
  public func isRunning(_ job: Query, lease: Query) -> Query { queue.isRunning(job, lease) }

  /// Ends the job in a transaction of the handler's: what it writes there and the end of the job are one. The handler returns
  /// after the commit.
  ///
  /// - Throws: ``JobError`` with `leaseLost`.
  public func finish(in transaction: Transaction) async throws {
    guard try await queue.finish([runID], in: transaction).isEmpty else { throw lost() }
    state.withLock { $0.mayBeFinished = true }
  }

  /// Whether the run surely has no lease any more, by this machine's own clock: for loops that do without the database.
  public var hasLostLease: Bool { state.withLock { $0.isLost || $0.leaseEnd <= .now() } }

  private func checkLease() throws(JobError) {
    if hasLostLease { throw .leaseLost }
  }

  private func lost() -> JobError {
    state.withLock { $0.isLost = true }
    return .leaseLost
  }

  // MARK: Progress

  /// How far a run is.
  public struct Progress: Sendable, Hashable {
    /// How much is done.
    public var done: Int
    /// Of how much.
    public var total: Int
    /// What is being done: nothing secret.
    public var note: String

    /// So much, of so much.
    public init(_ done: Int, of total: Int, _ note: String = "") {
      self.done = done
      self.total = total
      self.note = note
    }
  }

  /// Tells operators how far it is; see `parley jobs show`.
  ///
  /// - Parameters:
  ///   - done: How much is done.
  ///   - total: Of how much.
  ///   - note: What is being done: nothing secret.
  /// - Throws: ``JobError`` with `leaseLost`, or the database's error.
  public func report(_ done: Int, of total: Int, _ note: String = "") async throws {
    guard try await queue.report(id, lease, done, total, note) else { throw lost() }
  }

  // MARK: What the worker knows

  var isLost: Bool { state.withLock { $0.isLost } }
  var mayBeFinished: Bool { state.withLock { $0.mayBeFinished } }
  var hasEnded: Bool { state.withLock { $0.hasEnded } }
  var leaseEnd: MonotonicInstant { state.withLock { $0.leaseEnd } }

  func prolong(until end: MonotonicInstant) { state.withLock { $0.leaseEnd = max($0.leaseEnd, end) } }

  func markLost() { state.withLock { $0.isLost = true } }
}
