import Synchronization

/// One piece of work that any number of tasks wait for.
///
/// A task that is cancelled stops to wait; the work goes on for the others, and for the cache that it fills.
final class Flight<Value: Sendable>: Sendable {
  private struct State {
    var result: Result<Value, any Error>?
    var waiting: [Int: CheckedContinuation<Value, any Error>] = [:]
    var count = 0
  }

  private let state = Mutex(State())

  /// Ends the work; everybody gets the result, also who asks later.
  func finish(_ result: Result<Value, any Error>) {
    let waiting = state.withLock { state in
      state.result = result
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for continuation in waiting { continuation.resume(with: result) }
  }

  /// Waits for the result.
  ///
  /// - Throws: What the work threw; `CancellationError` when the waiting task is cancelled.
  func value() async throws -> Value {
    let number = state.withLock { state in
      state.count += 1
      return state.count
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let known: Result<Value, any Error>? = state.withLock { state in
          if let result = state.result { return result }
          // Cancelled before it was known here: nobody would resume it.
          if Task.isCancelled { return .failure(CancellationError()) }
          state.waiting[number] = continuation
          return nil
        }
        if let known { continuation.resume(with: known) }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(throwing: CancellationError())
    }
  }
}
