internal import EventLoop
public import PostgreSQL
public import Values

/// The queue in one schema of a database: the statements that call its SQL functions.
///
/// Times come from the clock that it is given, and go into the statements as parameters.
public struct JobQueue: Sendable {
  let schema: StaticString
  let database: Database
  let now: @Sendable () -> Instant

  /// The queue of a schema that has had ``JobsMigration/create(schema:role:)``.
  ///
  /// - Parameters:
  ///   - schema: The schema of the service.
  ///   - database: The service's database, as its serving role.
  ///   - now: The time of day.
  public init(schema: StaticString, _ database: Database, now: @escaping @Sendable () -> Instant) {
    self.schema = schema
    self.database = database
    self.now = now
  }

  var channel: String { JobsMigration.channel("\(schema)") }

  // MARK: Enqueueing

  /// Enqueues jobs in the caller's transaction; see ``JobEngine/enqueue(_:in:)``.
  @discardableResult
  public func enqueue(_ jobs: [NewJob], in transaction: Transaction) async throws -> [EnqueuedJob] {
    try await enqueue(jobs, on: transaction)
  }

  /// Enqueues jobs in a transaction of their own; see ``JobEngine/enqueue(_:)``.
  @discardableResult
  public func enqueue(_ jobs: [NewJob]) async throws -> [EnqueuedJob] { try await enqueue(jobs, on: database) }

  /// Enqueues jobs with the next statement of the caller's transaction; see ``JobEngine/add(_:to:)``.
  public func add(_ jobs: [NewJob], to transaction: Transaction) throws {
    for job in jobs { try Self.check(job) }
    if jobs.isEmpty { return }
    let now = now()
    transaction.add(enqueueing(jobs, as: jobs.map { $0.id ?? .v7(at: now) }, at: now))
  }

  private func enqueueing(_ jobs: [NewJob], as ids: [UUID], at now: Instant) -> Query {
    """
    select proposed, existing from \(fragment: schema).job_enqueue(\(now), \(ids), \(jobs.map(\.queue)), \(jobs.map(\.kind)),
      \(jobs.map { Int32($0.version) }), \(jobs.map(\.priority.rawValue)), \(jobs.map { $0.uniqueKey ?? "" }),
      \(jobs.map { $0.user ?? Self.nobody }), \(jobs.map { ByteString($0.payload) }),
      \(jobs.map { Int32(clamping: max(1, $0.attempts)) }), \(jobs.map { $0.notBefore ?? now }))
    """
  }

  private func enqueue(_ jobs: [NewJob], on runner: any QueryRunning) async throws -> [EnqueuedJob] {
    for job in jobs { try Self.check(job) }
    if jobs.isEmpty { return [] }
    let now = now()
    let ids = jobs.map { $0.id ?? .v7(at: now) }
    let taken: [(UUID, UUID)] = try await runner.rows(enqueueing(jobs, as: ids, at: now))
    guard !taken.isEmpty else { return ids.map { EnqueuedJob(id: $0, isNew: true) } }
    let existing = Dictionary(taken, uniquingKeysWith: { first, _ in first })
    return ids.map { id in existing[id].map { EnqueuedJob(id: $0, isNew: false) } ?? EnqueuedJob(id: id, isNew: true) }
  }

  /// Which of some unique keys no live job of a kind has.
  public func keysWithoutJob(of kind: String, among keys: [String]) async throws(DatabaseError) -> Set<String> {
    if keys.isEmpty { return [] }
    return Set(
      try await database.rows(
        """
        select key from unnest(\(keys)) as wanted(key) where not exists (
          select from \(fragment: schema).job where job.kind = \(kind) and job.unique_key = wanted.key)
        """, as: String.self))
  }

  /// Stands for no user in an array, which cannot hold NULL.
  private static let nobody = UUID(high: 0, low: 0)

  private static func check(_ job: NewJob) throws(JobError) {
    guard JobName.isValid(job.kind), JobName.isValid(job.queue) else {
      throw JobError(code: .invalidJob, message: "names of jobs and queues are [a-z][a-z0-9._-]*")
    }
    guard job.payload.count <= NewJob.longestPayload else {
      throw JobError(code: .invalidJob, message: "the payload of \(job.kind) is longer than 1 MiB")
    }
    guard (job.uniqueKey ?? "").utf8.count <= NewJob.longestUniqueKey, !(job.uniqueKey ?? "").utf8.contains(0) else {
      throw JobError(code: .invalidJob, message: "the unique key of a \(job.kind) is longer than 512 bytes, or holds a NUL")
    }
  }
}
