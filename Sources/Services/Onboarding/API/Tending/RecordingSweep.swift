internal import Blobs
internal import EventLoop
internal import Logging
internal import OnboardingStore
internal import PostgreSQL
internal import Values

/// Removes recordings that no answer refers to any more: their rows, their staged bytes, and what the object store has of them.
///
/// What is to go is noted in the database first, so that no crash leaves anything in the object store that nobody knows of. Any number of
/// copies may sweep at once.
struct RecordingSweep: Sendable {
  let database: Database
  let unwanted: UnwantedRecordingStore
  let submissions: SubmissionStore
  let blobs: any BlobStore
  let loop: EventLoop
  let log: Logger

  /// How long the object store is waited for: meanwhile the person can save no answer, and the database ends idle transactions.
  private static let patience = Duration.seconds(10)
  /// After how long a recording that could not be deleted is tried again.
  private static let pause = Duration.seconds(300)
  /// After so many failures the object store is left alone until the next look.
  private static let mostFailures = 3

  /// Removes the rows and the staged bytes.
  ///
  /// - Parameters:
  ///   - limit: The last moment since which no answer has referred to what goes.
  ///   - now: The time.
  func forgetRows(before limit: Instant, at now: Instant) async throws {
    var count = 0
    for user in try await unwanted.people(before: limit) {
      var noted = 0
      repeat {
        noted = try await database.transaction { transaction in
          // Who is doing something this moment is looked at next time.
          guard try await submissions.tryLock(user, in: transaction) else { return 0 }
          return try await unwanted.note(of: user, before: limit, at: now, in: transaction)
        }
        count += noted
      } while noted > 0
    }
    if count > 0 { log.info("recordings that no answer refers to were removed", metadata: ["recordings": "\(count)"]) }
  }

  /// Removes what the object store has.
  func emptyStore(at now: Instant) async throws {
    var failures = 0
    for recording in try await unwanted.due(at: now) where failures < Self.mostFailures {
      guard let key = BlobKey(owner: recording.user, digest: recording.digest) else { continue }
      do {
        try await database.transaction { transaction in
          // The lock is kept while the store is asked: the same content cannot come again meanwhile, and be deleted with it.
          guard try await submissions.tryLock(recording.user, in: transaction),
            try await unwanted.isWaiting(recording, in: transaction)
          else { return }
          try await delete(key)
          try await unwanted.removed(recording, in: transaction)
        }
      } catch let error as BlobError {
        try Task.checkCancellation()
        failures += 1
        log.warning("a recording could not be deleted in the object store", metadata: ["cause": "\(error)"])
        try await unwanted.postpone(recording, until: now.advanced(by: max(error.retryAfter ?? .zero, Self.pause)))
      }
    }
  }

  private func delete(_ key: BlobKey) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await blobs.delete(key) }
      group.addTask {
        try await loop.sleep(for: Self.patience)
        throw BlobError(.unavailable, "delete: no answer in time")
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }
}
