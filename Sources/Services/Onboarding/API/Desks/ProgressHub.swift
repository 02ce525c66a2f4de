internal import EventLoop
internal import Logging
internal import OnboardingStore
internal import PostgreSQL
internal import Synchronization
internal import Values

/// Wakes those who watch submissions when one changes.
///
/// Notifications of the database say so at once. They are hints, since one may be lost: so the hub asks for the newest event of all that are
/// watched in this process, once a second with one statement, however many watch, and wakes those who have not seen it; who watches asks
/// only when woken. While nobody watches nothing is asked.
final class ProgressHub: Sendable {
  /// Somebody who watches a submission.
  final class Watcher: Sendable {
    fileprivate let signal = ChangeSignal()
    private let seen = Atomic<Int64>(0)

    /// Whether it knows of an event, the newest one there is.
    fileprivate func hasSeen(_ newest: Int64) -> Bool { seen.load(ordering: .relaxed) == newest }

    /// Says which event it has come to: it is not woken for that any more.
    func see(_ newest: Int64) { seen.store(newest, ordering: .relaxed) }

    /// Suspends the calling task until something may have changed, or for a time.
    ///
    /// - Parameter longest: The time.
    /// - Throws: `CancellationError` when the task is cancelled.
    func wait(atMost longest: Duration) async throws { _ = try await signal.wait(atMost: longest) }
  }

  private struct Watched {
    let user: UUID
    var watchers: [Int: Watcher] = [:]
  }

  private struct State {
    var watched: [UUID: Watched] = [:]
    var next = 0
  }

  private let state = Mutex(State())

  /// How often the hub looks by itself.
  private static let interval = Duration.seconds(1)

  /// Hears of changes until the task is cancelled.
  func listen(_ database: Database) async {
    await database.listen(to: [SubmissionStore.channel]) { [self] heard in
      switch heard {
      case .notification(_, let payload): wake(UUID(payload)) { _ in true }
      case .listening: wake(nil) { _ in true }
      }
    }
  }

  /// Looks for changes whose notification was lost, until the task is cancelled.
  func look(_ submissions: SubmissionStore, on loop: EventLoop, _ log: Logger) async throws {
    while true {
      try await loop.sleep(for: Self.interval)
      let watched = state.withLock { $0.watched.mapValues(\.user) }
      guard !watched.isEmpty else { continue }
      do throws(DatabaseError) {
        for (id, newest) in try await submissions.newestEvents(of: watched) { wake(id) { !$0.hasSeen(newest) } }
      } catch {
        try Task.checkCancellation()
        log.debug("submissions that are watched were not looked at", metadata: ["cause": "\(error)"])
      }
    }
  }

  /// Wakes those who watch a submission, all of them where none is named, if they have something to hear.
  private func wake(_ id: UUID?, where hasNews: (Watcher) -> Bool) {
    let watchers = state.withLock { state -> [Watcher] in
      guard let id else { return state.watched.values.flatMap { Array($0.watchers.values) } }
      return state.watched[id].map { Array($0.watchers.values) } ?? []
    }
    for watcher in watchers where hasNews(watcher) { watcher.signal.raise() }
  }

  /// Watches a submission for the length of `body`.
  ///
  /// - Parameters:
  ///   - id: The submission.
  ///   - user: Whose it is.
  ///   - most: How many may watch it.
  ///   - body: Looks first, says what it has seen, and looks again whenever it is woken.
  /// - Throws: ``OnboardingRefusal/tooManyWatchers`` where it has `most` watchers, and what `body` throws.
  func following<Value>(
    _ id: UUID, of user: UUID, atMost most: Int = .max, _ body: (Watcher) async throws -> Value
  ) async throws -> Value {
    let watcher = Watcher()
    let place = try state.withLock { state in
      guard state.watched[id]?.watchers.count ?? 0 < most else { throw OnboardingRefusal.tooManyWatchers }
      state.next += 1
      state.watched[id, default: Watched(user: user)].watchers[state.next] = watcher
      return state.next
    }
    defer {
      state.withLock { state in
        state.watched[id]?.watchers[place] = nil
        if state.watched[id]?.watchers.isEmpty == true { state.watched[id] = nil }
      }
    }
    return try await body(watcher)
  }
}
