public import PostgreSQL
public import Values

/// Which jobs an operator means; what is nil is no condition.
public struct JobFilter: Sendable, Hashable {
  /// Of which queue.
  public var queue: String?
  /// Of which kind.
  public var kind: String?
  /// Doing what.
  public var state: JobState?
  /// Whose.
  public var user: UUID?

  /// A filter from its conditions.
  public init(queue: String? = nil, kind: String? = nil, state: JobState? = nil, user: UUID? = nil) {
    self.queue = queue
    self.kind = kind
    self.state = state
    self.user = user
  }
}

/// What became of an operator's wish to run a job again.
public enum RetryOutcome: String, Sendable, Hashable {
  /// It runs as soon as a worker has room.
  case retried
  /// It runs already.
  case running
  /// There is no such job.
  case missing
  /// Another live job has its unique key.
  case taken
}

extension JobQueue {
  // Live and dead jobs side by side; what the columns are called here is what `StoredJob` reads.
  private static let jobs: StaticString = """
    select j.id, j.kind, j.version, j.queue,
      case when j.held then 'held' when j.due_at <= n.at then 'ready' when j.holder is null then 'scheduled' else 'running' end
        as state,
      j.priority, j.unique_key, j.user_id, j.attempt, j.max_attempts, j.enqueued_at, j.due_at as moment,
      coalesce(j.holder, '') as holder, coalesce(j.last_error, '') as last_error, '' as reason, j.steps,
      j.progress_done, j.progress_total, j.progress_note, length(j.payload) as payload_length
    """
  private static let deadJobs: StaticString = """
    select d.id, d.kind, d.version, d.queue, 'dead' as state, d.priority, d.unique_key, d.user_id, d.attempt, d.max_attempts,
      d.enqueued_at, d.died_at as moment, '' as holder, d.last_error, d.reason, d.steps, d.progress_done, d.progress_total,
      d.progress_note, length(d.payload) as payload_length
    """

  private var all: Query {
    """
    (\(fragment: Self.jobs) from \(fragment: schema).job j, (values (\(now()))) as n(at)
    union all \(fragment: Self.deadJobs) from \(fragment: schema).dead_job d) as all_jobs
    """
  }

  /// Jobs in the order of their identifiers, which is about that in which they were enqueued.
  ///
  /// - Parameters:
  ///   - filter: Which.
  ///   - after: The last one of the page before; nil: from the first on.
  ///   - most: How many.
  public func list(_ filter: JobFilter = JobFilter(), after: UUID? = nil, atMost most: Int) async throws(DatabaseError)
    -> [StoredJob]
  {
    try await database.rows(
      """
      select * from \(part: all)
      where (\(after)::uuid is null or id > \(after)) and (\(filter.queue)::text is null or queue = \(filter.queue))
        and (\(filter.kind)::text is null or kind = \(filter.kind))
        and (\(filter.state?.rawValue)::text is null or state = \(filter.state?.rawValue))
        and (\(filter.user)::uuid is null or user_id = \(filter.user))
      order by id limit \(most)
      """)
  }

  /// One job; nil when there is none, be it that it is done.
  public func job(_ id: UUID) async throws(DatabaseError) -> StoredJob? {
    try await database.row("select * from \(part: all) where id = \(id)")
  }

  /// The finished steps of a job, in the order in which they were finished.
  public func finishedSteps(of id: UUID) async throws(DatabaseError) -> [(name: String, at: Instant)] {
    let rows: [(String, Instant)] = try await database.rows(
      "select name, finished_at from \(fragment: schema).job_step where job_id = \(id) order by finished_at, name")
    return rows.map { (name: $0.0, at: $0.1) }
  }

  /// Lets a dead job live again with all its attempts, or a waiting one run at once.
  ///
  /// - Parameters:
  ///   - id: The job.
  ///   - payload: What it carries from now on; nil: what it carried.
  /// - Throws: ``JobError`` with `invalidJob` when the payload is too long, or the database's error.
  public func retry(_ id: UUID, payload: [UInt8]? = nil) async throws -> RetryOutcome {
    guard (payload?.count ?? 0) <= NewJob.longestPayload else {
      throw JobError(code: .invalidJob, message: "the payload is longer than 1 MiB")
    }
    let text: String? = try await database.value(
      "select \(fragment: schema).job_retry(\(now()), \(id), \(payload)::bytea)")
    return text.flatMap(RetryOutcome.init) ?? .missing
  }

  /// Removes dead jobs by their identifiers, or all that a filter means; its state is not looked at.
  ///
  /// - Parameters:
  ///   - ids: Which; nil: all.
  ///   - filter: Of which queue and kind.
  ///   - age: Only what has been dead for so long.
  ///   - most: How many at most.
  /// - Returns: How many.
  public func purgeDead(
    _ ids: [UUID]? = nil, _ filter: JobFilter = JobFilter(), olderThan age: Duration = .zero, atMost most: Int
  ) async throws(DatabaseError) -> Int {
    // What died in this very moment is dead for no time at all.
    let before = now().advanced(by: .microseconds(1) - age)
    let count: Int32? = try await database.value(
      """
      select \(fragment: schema).job_purge_dead(
        \(before), \(ids)::uuid[], \(filter.kind)::text, \(filter.queue)::text, \(Int32(clamping: most)))
      """)
    return Int(count ?? 0)
  }

  /// Removes jobs that wait; those that run stay.
  ///
  /// - Returns: How many.
  public func purgeWaiting(_ ids: [UUID]) async throws(DatabaseError) -> Int {
    let count: Int32? = try await database.value("select \(fragment: schema).job_purge_waiting(\(ids))")
    return Int(count ?? 0)
  }

  /// Removes all jobs of a person, in the caller's transaction. A run of one loses its lease.
  ///
  /// - Parameters:
  ///   - user: The person.
  ///   - but: The job that is doing this, and stays.
  ///   - transaction: Where.
  /// - Returns: How many.
  @discardableResult
  public func forget(_ user: UUID, but: UUID? = nil, in transaction: Transaction) async throws(DatabaseError) -> Int {
    let count: Int32? = try await transaction.value("select \(fragment: schema).job_forget(\(user), \(but)::uuid)")
    return Int(count ?? 0)
  }

  /// Stops the claiming of a queue's jobs; what runs goes on.
  ///
  /// - Parameters:
  ///   - queue: Its name.
  ///   - who: Who says so.
  /// - Returns: False when it was paused already.
  public func pause(_ queue: String, by who: String) async throws(DatabaseError) -> Bool {
    try await database.value("select \(fragment: schema).job_pause(\(now()), \(queue), \(who))") ?? false
  }

  /// Ends a pause.
  ///
  /// - Returns: False when there was none.
  public func resume(_ queue: String) async throws(DatabaseError) -> Bool {
    try await database.value("select \(fragment: schema).job_resume(\(queue))") ?? false
  }
}
