public import PostgreSQL

/// Where jobs are kept and who has them run: PostgreSQL (``PostgreSQLJobs``), or a workflow system that an operator prefers.
///
/// Services know this protocol, ``JobKind`` and ``JobRun``, and nothing of what is behind them.
public protocol JobEngine: Sendable {
  /// Enqueues jobs in the caller's transaction: they exist if and only if it is committed.
  ///
  /// - Returns: What became of each, in their order.
  /// - Throws: ``JobError`` with `invalidJob`, or the database's error.
  func enqueue(_ jobs: [NewJob], in transaction: Transaction) async throws -> [EnqueuedJob]

  /// Enqueues jobs in the caller's transaction, of which nobody asks whether they are new: they travel with its next statement, or with
  /// COMMIT (``PostgreSQL/Transaction/add(_:)``).
  ///
  /// - Throws: ``JobError`` with `invalidJob`.
  func add(_ jobs: [NewJob], to transaction: Transaction) throws

  /// Enqueues jobs in a transaction of their own.
  ///
  /// - Returns: What became of each, in their order.
  /// - Throws: ``JobError`` with `invalidJob`, or the database's error.
  func enqueue(_ jobs: [NewJob]) async throws -> [EnqueuedJob]

  /// Has jobs run by their handlers until the calling task is cancelled; then gives back what is unfinished.
  ///
  /// - Throws: `CancellationError` at its end.
  func work(_ handlers: JobHandlers) async throws
}

extension JobEngine {
  /// Enqueues one job in the caller's transaction.
  @discardableResult
  public func enqueue(_ job: NewJob, in transaction: Transaction) async throws -> EnqueuedJob {
    try await enqueue([job], in: transaction)[0]
  }

  /// Enqueues one job in a transaction of its own.
  @discardableResult
  public func enqueue(_ job: NewJob) async throws -> EnqueuedJob { try await enqueue([job])[0] }
}
