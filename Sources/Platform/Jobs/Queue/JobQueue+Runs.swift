internal import EventLoop
internal import PostgreSQL
internal import Values

extension JobQueue {
  /// What became of a run that failed.
  enum FailedRun: String {
    case waits
    case dead
    case lost
  }

  /// Leases at most `most` jobs that are due.
  ///
  /// - Parameters:
  ///   - most: How many.
  ///   - queue: Of which queue.
  ///   - kinds: Of which kinds.
  ///   - worker: Who has them from now on.
  ///   - lease: For how long.
  func claim(
    _ most: Int, from queue: String, kinds: [String], as worker: String, for lease: Duration
  ) async throws(DatabaseError) -> [ClaimedJob] {
    let now = now()
    return try await database.rows(
      """
      select * from \(fragment: schema).job_claim(
        \(now), \(now.advanced(by: lease)), \(worker), \(queue), \(kinds), \(Int32(clamping: most)))
      """)
  }

  /// Prolongs leases.
  ///
  /// - Returns: The runs that have lost theirs.
  func heartbeat(_ runs: [JobRun], for lease: Duration, deadline: MonotonicInstant) async throws(DatabaseError) -> Set<RunID> {
    let now = now()
    let lost: [(UUID, Int64)] = try await database.rows(
      """
      select * from \(fragment: schema).job_heartbeat(
        \(now), \(now.advanced(by: lease)), \(runs.map(\.id)), \(runs.map(\.lease)))
      """, deadline: deadline)
    return Set(lost.map { RunID(job: $0.0, lease: $0.1) })
  }

  /// Ends runs that succeeded.
  ///
  /// - Returns: The runs that had lost their lease.
  func finish(_ runs: [RunID], in transaction: Transaction? = nil) async throws(DatabaseError) -> Set<RunID> {
    let runner: any QueryRunning = transaction ?? database
    let lost: [(UUID, Int64)] = try await runner.rows(ends(runs))
    return Set(lost.map { RunID(job: $0.0, lease: $0.1) })
  }

  /// Ends runs that succeeded: answers those that had lost their lease.
  func ends(_ runs: [RunID]) -> Query {
    "select * from \(fragment: schema).job_finish(\(now()), \(runs.map(\.job)), \(runs.map(\.lease)))"
  }

  /// Ends a run that failed.
  ///
  /// - Parameters:
  ///   - again: When the job is tried again; nil: it is dead.
  ///   - reason: Why it is dead.
  ///   - error: What happened.
  ///   - deadline: Until when the database may take; nil: as long as it does for any statement.
  func fail(
    _ run: JobRun, again: Duration?, reason: String, error: String, deadline: MonotonicInstant? = nil
  ) async throws(DatabaseError) -> FailedRun {
    let now = now()
    let text: String? = try await database.value(
      """
      select \(fragment: schema).job_fail(\(now), \(run.id), \(run.lease), \(again.map { now.advanced(by: $0) }), \(reason), \(error))
      """, deadline: deadline)
    return text.flatMap(FailedRun.init) ?? .lost
  }

  /// Gives runs back as if they had never begun.
  ///
  /// - Returns: How many still had their lease.
  func giveBack(_ runs: [JobRun], deadline: MonotonicInstant) async throws(DatabaseError) -> Int {
    let count: Int32? = try await database.value(
      "select \(fragment: schema).job_give_back(\(now()), \(runs.map(\.id)), \(runs.map(\.lease)))", deadline: deadline)
    return Int(count ?? 0)
  }

  /// Gives a run back without spending an attempt; its job waits for a while.
  ///
  /// - Parameters:
  ///   - run: The run.
  ///   - pause: How long its job waits.
  ///   - error: What happened, where that is kept.
  /// - Returns: Whether it still had its lease.
  func giveWay(_ run: JobRun, for pause: Duration, keeping error: String? = nil) async throws(DatabaseError) -> Bool {
    let now = now()
    return try await database.execute(
      """
      update \(fragment: schema).job
      set holder = null, started_at = null, due_at = \(now.advanced(by: pause)), attempt = attempt - 1,
        last_error = coalesce(\(error), last_error)
      where id = \(run.id) and run_lease = \(run.lease) and holder is not null and due_at > \(now)
      """) == 1
  }

  /// Whether a job's run of a lease goes on, as a condition.
  func isRunning(_ job: Query, _ lease: Query) -> Query {
    """
    exists (
      select from \(fragment: schema).job as other
      where other.id = \(part: job) and other.run_lease = \(part: lease) and other.holder is not null and other.due_at > \(now()))
    """
  }

  /// Keeps what a step came to.
  ///
  /// - Returns: Whether the run had its lease.
  func checkpoint(
    _ id: UUID, _ lease: Int64, _ step: String, _ result: [UInt8], in transaction: Transaction?
  ) async throws(DatabaseError) -> Bool {
    let runner: any QueryRunning = transaction ?? database
    return try await runner.value(
      "select \(fragment: schema).job_checkpoint(\(now()), \(id), \(lease), \(step), \(result))") ?? false
  }

  /// What the database says, by `job_hold`, of a run that has lost its lease.
  static let leaseLost = SQLState(rawValue: "PJ001")

  /// Fails the transaction where a run has lost its lease, and keeps the job for it until the transaction ends otherwise.
  ///
  /// - Parameter progress: How far the run is, where that is to be kept.
  func hold(_ id: UUID, _ lease: Int64, reporting progress: JobRun.Progress? = nil) -> Query {
    let hold: Query = "\(fragment: schema).job_hold(\(now()), \(id), \(lease))"
    guard let progress else { return "select \(part: hold)" }
    // To keep it takes the same lock, and says whether there was anything to lock.
    return """
      select case when not \(fragment: schema).job_progress(
        \(now()), \(id), \(lease), \(progress.done), \(progress.total), \(progress.note)) then \(part: hold)::text end
      """
  }

  /// Keeps what a step of a run came to that is held (``hold(_:_:)``).
  func checkpoint(_ id: UUID, _ lease: Int64, _ step: String, _ result: [UInt8]) -> Query {
    "select \(fragment: schema).job_checkpoint(\(now()), \(id), \(lease), \(step), \(result))"
  }

  /// What the finished steps of a job came to.
  func steps(of id: UUID) async throws(DatabaseError) -> [String: [UInt8]] {
    let rows: [(String, [UInt8])] = try await database.rows(
      "select name, result from \(fragment: schema).job_step where job_id = \(id)")
    return Dictionary(rows, uniquingKeysWith: { first, _ in first })
  }

  /// Whether a run has its lease; if so, it keeps it until the transaction ends.
  func fence(_ id: UUID, _ lease: Int64, in transaction: Transaction) async throws(DatabaseError) -> Bool {
    try await transaction.value("select \(fragment: schema).job_fence(\(now()), \(id), \(lease))") ?? false
  }

  /// Keeps how far a run is.
  func report(
    _ id: UUID, _ lease: Int64, _ done: Int, _ total: Int, _ note: String
  ) async throws(DatabaseError) -> Bool {
    try await database.value(
      "select \(fragment: schema).job_progress(\(now()), \(id), \(lease), \(done), \(total), \(note))") ?? false
  }
}
