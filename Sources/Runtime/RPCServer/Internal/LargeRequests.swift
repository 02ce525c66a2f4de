internal import Synchronization

/// How many bytes of large requests a process has at once, from before they are let in until they have been worked on.
///
/// Who finds no room waits, in the order in which they came: a small one behind a large one too, or the large one's turn would
/// never come.
final class LargeRequests: Sendable {
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

  /// What may be there at once.
  let limit: Int
  private let state = Mutex(State())

  init(limit: Int) { self.limit = limit }

  /// The bytes that are let in, and how many requests wait.
  var usage: (bytes: Int, waiting: Int) { state.withLock { ($0.used, $0.waiters.count) } }

  /// Waits for room.
  ///
  /// - Parameter bytes: What the request may come to. More than there may be at all counts as all.
  /// - Returns: What to give back to ``leave(_:)``; nil when the task was cancelled while it waited.
  func enter(_ bytes: Int) async -> Int? {
    let bytes = min(bytes, limit)
    let ticket = state.withLock { state in
      state.lastTicket += 1
      return state.lastTicket
    }
    let isIn = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isIn: Bool? = state.withLock { state in
          // Whoever cancels says so before it looks for the ticket, so one of the two sees the other.
          if Task.isCancelled { return false }
          if state.waiters.isEmpty && state.used + bytes <= limit {
            state.used += bytes
            return true
          }
          state.waiters.append(Waiter(ticket: ticket, bytes: bytes, continuation: continuation))
          return nil
        }
        if let isIn { continuation.resume(returning: isIn) }
      }
    } onCancel: {
      giveUp(ticket)
    }
    return isIn ? bytes : nil
  }

  /// A request has been worked on.
  func leave(_ bytes: Int) {
    admit { $0.used -= bytes }
  }

  private func giveUp(_ ticket: Int) {
    var given: Waiter?
    // Those behind it may have waited for it alone.
    admit { state in
      guard let index = state.waiters.firstIndex(where: { $0.ticket == ticket }) else { return }
      given = state.waiters.remove(at: index)
    }
    given?.continuation.resume(returning: false)
  }

  private func admit(after change: (inout State) -> Void) {
    let admitted = state.withLock { state in
      change(&state)
      var admitted: [Waiter] = []
      while let next = state.waiters.first, state.used + next.bytes <= limit {
        state.used += next.bytes
        admitted.append(state.waiters.removeFirst())
      }
      return admitted
    }
    for waiter in admitted { waiter.continuation.resume(returning: true) }
  }
}
