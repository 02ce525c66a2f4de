internal import Synchronization

/// How many bytes of recordings a process has in memory at once for one kind of work, however much of that there is.
///
/// Who finds no room waits, in the order in which they came: a small recording behind a large one too, or the large one's turn would never
/// come. Nobody waits who has room, so all of them end.
final class RecordingRoom: Sendable {
  private struct Waiter {
    let ticket: Int
    let bytes: Int
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var used = 0
    var lastTicket = 0
    var waiters: [Waiter] = []
  }

  private let limit: Int
  private let state = Mutex(State())

  /// - Parameter limit: How many bytes may be there at once.
  init(bytes limit: Int) { self.limit = limit }

  /// Has room for recordings for the length of `body`.
  ///
  /// - Parameters:
  ///   - bytes: What they take together; more than there may be is all of it.
  ///   - body: What loads them, and lets go of them.
  func hold<Result>(_ bytes: Int, _ body: () async throws -> Result) async throws -> Result {
    let bytes = min(bytes, limit)
    guard await enter(bytes) else { throw CancellationError() }
    defer { leave(bytes) }
    return try await body()
  }

  /// - Returns: Whether there is room by now; not when the task was cancelled while it waited.
  private func enter(_ bytes: Int) async -> Bool {
    let ticket = state.withLock { state in
      state.lastTicket += 1
      return state.lastTicket
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isIn: Bool? = state.withLock { state in
          // Whoever cancels says so before it looks for the ticket, so one of the two sees the other.
          if Task.isCancelled { return false }
          guard !state.waiters.isEmpty || state.used + bytes > limit else {
            state.used += bytes
            return true
          }
          state.waiters.append(Waiter(ticket: ticket, bytes: bytes, continuation: continuation))
          return nil
        }
        if let isIn { continuation.resume(returning: isIn) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.waiters.firstIndex { $0.ticket == ticket }.map { state.waiters.remove(at: $0) }
      }
      waiter?.continuation.resume(returning: false)
      // Those behind it may find room now.
      letIn()
    }
  }

  private func leave(_ bytes: Int) {
    state.withLock { $0.used -= bytes }
    letIn()
  }

  private func letIn() {
    let next: [Waiter] = state.withLock { state in
      var next: [Waiter] = []
      while let first = state.waiters.first, state.used + first.bytes <= limit {
        state.used += first.bytes
        next.append(state.waiters.removeFirst())
      }
      return next
    }
    for waiter in next { waiter.continuation.resume(returning: true) }
  }
}
