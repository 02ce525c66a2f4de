public import EventLoop
public import Logging
public import PostgreSQL

/// The job engine that every service has: the queue in its own schema, and workers in its own processes.
public struct PostgreSQLJobs: JobEngine {
  /// The queue.
  public let queue: JobQueue
  private let settings: WorkerSettings
  private let loops: EventLoopGroup
  private let log: Logger
  private let metrics: JobMetrics

  /// An engine that does not work before ``work(_:)``.
  ///
  /// - Parameters:
  ///   - queue: The queue.
  ///   - settings: How a worker works.
  ///   - loops: What handlers run on.
  ///   - log: Where workers tell what goes wrong.
  ///   - metrics: Where they count.
  public init(_ queue: JobQueue, _ settings: WorkerSettings, on loops: EventLoopGroup, log: Logger, metrics: JobMetrics) {
    self.queue = queue
    self.settings = settings
    self.loops = loops
    self.log = log
    self.metrics = metrics
  }

  /// Enqueues jobs in the caller's transaction.
  public func enqueue(_ jobs: [NewJob], in transaction: Transaction) async throws -> [EnqueuedJob] {
    try await queue.enqueue(jobs, in: transaction)
  }

  /// Enqueues jobs in the caller's transaction, with its next statement.
  public func add(_ jobs: [NewJob], to transaction: Transaction) throws { try queue.add(jobs, to: transaction) }

  /// Enqueues jobs in a transaction of their own.
  public func enqueue(_ jobs: [NewJob]) async throws -> [EnqueuedJob] { try await queue.enqueue(jobs) }

  /// Works until the calling task is cancelled.
  public func work(_ handlers: JobHandlers) async throws {
    try await JobWorker(queue, handlers, settings, on: loops, log: log, metrics: metrics).run()
  }
}
