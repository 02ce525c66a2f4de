internal import AuthDomain
internal import AuthStore
internal import Jobs
internal import PostgreSQL
internal import Values

/// Exports and deletions as jobs of the service's queue.
enum AccountJobs {
  /// Which work it is.
  struct Order: Sendable, Hashable {
    var user: UserID
    var work: AccountWorkID
  }

  /// Not given up: what a person has a right to is tried for as long as it takes.
  static let attempts = 1_000_000

  /// Gathering an export.
  static let export = kind("account.export")
  /// Deleting an account.
  static let deletion = kind("account.deletion")

  static func kind(of work: AccountWork.Kind) -> JobKind<Order> { work == .export ? export : deletion }

  private static func kind(_ name: String) -> JobKind<Order> {
    JobKind(
      name, retry: RetryPolicy(attempts: attempts, firstPause: .seconds(2), longestPause: .seconds(600)), timeout: .seconds(3600),
      encode: { Array("\($0.user)/\($0.work)".utf8) },
      decode: { bytes in
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: "/").map(String.init)
        guard parts.count == 2, let user = UserID(parts[0]), let work = AccountWorkID(parts[1]) else { throw Unreadable() }
        return Order(user: user, work: work)
      })
  }

  private struct Unreadable: Error {}

  /// Who does the work.
  static func handlers(_ worker: AccountWorker) -> JobHandlers {
    var handlers = JobHandlers()
    for kind in [export, deletion] {
      handlers.handle(kind) { order, run in
        switch try await worker.run(order.work, of: order.user) {
        case .done: break
        case .again(let why): throw JobFailure.retry(why)
        }
      }
    }
    return handlers
  }
}

/// The service's queue as the store's.
struct QueuedAccountWork: AccountWorkQueueing {
  let engine: any JobEngine

  func enqueue(
    _ work: AccountWorkID, _ kind: AccountWork.Kind, of user: UserID, at now: Instant, on transaction: Transaction
  ) async throws { try await engine.enqueue(Self.job(work, kind, of: user), in: transaction) }

  /// Enqueues work whose job is gone; where there is one, nothing happens.
  func enqueueAgain(_ work: AccountWorkID, _ kind: AccountWork.Kind, of user: UserID) async throws -> Bool {
    try await engine.enqueue(Self.job(work, kind, of: user)).isNew
  }

  /// Without the user's mark: a job of the deletion's own must outlast what it deletes.
  private static func job(_ work: AccountWorkID, _ kind: AccountWork.Kind, of user: UserID) throws -> NewJob {
    try AccountJobs.kind(of: kind).job(
      AccountJobs.Order(user: user, work: work), uniqueKey: work.description, priority: kind == .export ? .urgent : .normal)
  }
}
