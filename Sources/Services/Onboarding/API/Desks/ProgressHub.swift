internal import OnboardingStore
internal import PostgreSQL
internal import Synchronization

/// Wakes those who watch submissions when one changes. What it says is a hint: they look for themselves now and then.
final class ProgressHub: Sendable {
  private struct State {
    var watchers: [UUID: [Int: AsyncStream<Void>.Continuation]] = [:]
    var next = 0
  }

  private let state = Mutex(State())

  /// Hears of changes until the task is cancelled.
  func listen(_ database: Database) async {
    await database.listen(to: [SubmissionStore.channel]) { [self] heard in
      switch heard {
      case .notification(_, let payload): ring(UUID(payload))
      case .listening: ring(nil)
      }
    }
  }

  /// Wakes those who watch a submission; all of them where none is named.
  private func ring(_ id: UUID?) {
    let waiting = state.withLock { state in
      if let id { Array((state.watchers[id] ?? [:]).values) } else { state.watchers.values.flatMap(\.values) }
    }
    for watcher in waiting { watcher.yield() }
  }

  /// Watches a submission for the length of `body`, which gets what waits for its next change, or for a time.
  ///
  /// - Throws: ``OnboardingRefusal/tooManyWatchers`` where it has `most` watchers, and what `body` throws.
  func following<Value>(
    _ id: UUID, atMost most: Int = .max,
    _ body: (_ wait: @escaping @Sendable (Duration) async throws -> Void) async throws -> Value
  ) async throws -> Value {
    let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let place = try state.withLock { state in
      guard state.watchers[id, default: [:]].count < most else { throw OnboardingRefusal.tooManyWatchers }
      state.next += 1
      state.watchers[id, default: [:]][state.next] = continuation
      return state.next
    }
    defer {
      state.withLock { state in
        state.watchers[id]?[place] = nil
        if state.watchers[id]?.isEmpty == true { state.watchers[id] = nil }
      }
      continuation.finish()
    }
    return try await body { longest in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { for await _ in stream { return } }
        group.addTask { try await Task.sleep(for: longest) }
        try await group.next()
        group.cancelAll()
      }
      try Task.checkCancellation()
    }
  }
}
