internal import Synchronization

/// A signal to one task that something may have changed.
///
/// It is kept until that task waits for it, and several are one. A wait that ends without it, for its time was up or its task was cancelled,
/// leaves the signal as it was: the next wait hears of what came meanwhile, and waits for its whole time where nothing did. An `AsyncStream`
/// cannot do that: cancelling a task that reads it ends the stream, and every read from then on returns at once.
public final class ChangeSignal: Sendable {
  private struct State {
    var isRaised = false
    var waits = 0
    var waiter: (number: Int, continuation: CheckedContinuation<Bool, Never>)?
  }

  private let state = Mutex(State())

  /// A signal that was not raised yet.
  public init() {}

  /// Wakes whoever waits, or the next one who does.
  public func raise() {
    let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      guard let waiter = state.waiter else {
        state.isRaised = true
        return nil
      }
      state.waiter = nil
      return waiter.continuation
    }
    waiter?.resume(returning: true)
  }

  /// Suspends the calling task until the signal is raised, or for a time. One task waits at a time.
  ///
  /// - Parameter longest: The time.
  /// - Returns: Whether the signal was raised.
  /// - Throws: `CancellationError` when the task is cancelled.
  public func wait(atMost longest: Duration) async throws -> Bool {
    let isRaised = try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask { await self.isRaised() }
      group.addTask {
        try await Task.sleep(for: longest)
        return false
      }
      let first = try await group.next() ?? false
      group.cancelAll()
      if first { return true }
      // What was raised in the moment in which time was up is heard.
      return (try? await group.next()) ?? false
    }
    try Task.checkCancellation()
    return isRaised
  }

  /// - Returns: Whether it was raised; not where the task was cancelled before.
  private func isRaised() async -> Bool {
    let number = state.withLock { state in
      state.waits += 1
      return state.waits
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer: Bool? = state.withLock { state in
          if state.isRaised {
            state.isRaised = false
            return true
          }
          // Whoever cancels says so before it looks for the wait, so one of the two sees the other.
          if Task.isCancelled { return false }
          precondition(state.waiter == nil, "one task waits at a time")
          state.waiter = (number, continuation)
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
        guard let waiter = state.waiter, waiter.number == number else { return nil }
        state.waiter = nil
        return waiter.continuation
      }
      waiter?.resume(returning: false)
    }
  }
}
