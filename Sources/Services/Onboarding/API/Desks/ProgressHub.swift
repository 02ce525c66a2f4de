internal import EventLoop
internal import Logging
internal import OnboardingStore
internal import PostgreSQL
internal import Synchronization

/// Wakes those who watch submissions when one changes.
///
/// Notifications of the database say so at once. They are hints, since one may be lost: so the hub asks for the newest event of all that are
/// watched in this process, once a second with one statement, however many watch; who watches asks only when woken. While nobody watches
/// nothing is asked.
final class ProgressHub: Sendable {
  private struct Watched {
    let user: UUID
    var signals: [Int: ChangeSignal] = [:]
    /// The newest event when the hub last looked; nil before it did.
    var newest: Int64?
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
      case .notification(_, let payload): wake(UUID(payload))
      case .listening: wake(nil)
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
        for (id, newest) in try await submissions.newestEvents(of: watched) where hasChanged(id, newest) { wake(id) }
      } catch {
        try Task.checkCancellation()
        log.debug("submissions that are watched were not looked at", metadata: ["cause": "\(error)"])
      }
    }
  }

  /// Whether the newest event is another one than when the hub last looked, or nobody knows.
  private func hasChanged(_ id: UUID, _ newest: Int64) -> Bool {
    state.withLock { state in
      guard let before = state.watched[id] else { return false }
      state.watched[id]?.newest = newest
      return before.newest != newest
    }
  }

  /// Wakes those who watch a submission; all of them where none is named.
  private func wake(_ id: UUID?) {
    let signals = state.withLock { state -> [ChangeSignal] in
      guard let id else { return state.watched.values.flatMap { Array($0.signals.values) } }
      return state.watched[id].map { Array($0.signals.values) } ?? []
    }
    for signal in signals { signal.raise() }
  }

  /// Watches a submission for the length of `body`, which gets the signal of its changes.
  ///
  /// - Parameters:
  ///   - id: The submission.
  ///   - user: Whose it is.
  ///   - most: How many may watch it.
  ///   - body: Looks first, and then whenever the signal is raised.
  /// - Throws: ``OnboardingRefusal/tooManyWatchers`` where it has `most` watchers, and what `body` throws.
  func following<Value>(
    _ id: UUID, of user: UUID, atMost most: Int = .max, _ body: (ChangeSignal) async throws -> Value
  ) async throws -> Value {
    let signal = ChangeSignal()
    let place = try state.withLock { state in
      guard state.watched[id]?.signals.count ?? 0 < most else { throw OnboardingRefusal.tooManyWatchers }
      state.next += 1
      state.watched[id, default: Watched(user: user)].signals[state.next] = signal
      return state.next
    }
    defer {
      state.withLock { state in
        state.watched[id]?.signals[place] = nil
        if state.watched[id]?.signals.isEmpty == true { state.watched[id] = nil }
      }
    }
    return try await body(signal)
  }
}
