internal import Synchronization

/// How many bytes of large requests of one kind a process has at once, from when they begin to come until they have been worked on.
///
/// Who finds no room waits, in the order in which they came: a small one behind a large one too, or the large one's turn would
/// never come. Nobody has two at once: whoever sends several waits for themselves, and no other waits for that.
final class LargeRequests: Sendable {
  private struct Waiter {
    let ticket: Int
    let bytes: Int
    let owner: String?
    let continuation: CheckedContinuation<Bool, Never>
  }
  private struct State {
    var used = 0
    var lastTicket = 0
    var owners: Set<String> = []
    var waiters: [Waiter] = []

    func isFree(_ owner: String?) -> Bool { owner.map { !owners.contains($0) } ?? true }

    mutating func take(_ bytes: Int, _ owner: String?) {
      used += bytes
      if let owner { owners.insert(owner) }
    }
  }

  /// Room that somebody has, until it is given back.
  struct Turn: Sendable {
    fileprivate let bytes: Int
    fileprivate let owner: String?
  }

  /// What may be there at once.
  let limit: Int
  private let state = Mutex(State())

  init(limit: Int) { self.limit = limit }

  /// The bytes that are let in, and how many requests wait.
  var usage: (bytes: Int, waiting: Int) { state.withLock { ($0.used, $0.waiters.count) } }

  /// Waits for room.
  ///
  /// - Parameters:
  ///   - bytes: What the request may come to. More than there may be at all counts as all.
  ///   - owner: Who sends it; nil where nobody knows.
  /// - Returns: What to give back to ``leave(_:)``; nil when the task was cancelled while it waited.
  func enter(_ bytes: Int, of owner: String?) async -> Turn? {
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
          let isFirst = !state.waiters.contains { state.isFree($0.owner) }
          if isFirst && state.isFree(owner) && state.used + bytes <= limit {
            state.take(bytes, owner)
            return true
          }
          state.waiters.append(Waiter(ticket: ticket, bytes: bytes, owner: owner, continuation: continuation))
          return nil
        }
        if let isIn { continuation.resume(returning: isIn) }
      }
    } onCancel: {
      giveUp(ticket)
    }
    return isIn ? Turn(bytes: bytes, owner: owner) : nil
  }

  /// A request has been worked on.
  func leave(_ turn: Turn) {
    admit { state in
      state.used -= turn.bytes
      if let owner = turn.owner { state.owners.remove(owner) }
    }
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
      while let index = state.waiters.firstIndex(where: { state.isFree($0.owner) }),
        state.used + state.waiters[index].bytes <= limit
      {
        let next = state.waiters.remove(at: index)
        state.take(next.bytes, next.owner)
        admitted.append(next)
      }
      return admitted
    }
    for waiter in admitted { waiter.continuation.resume(returning: true) }
  }
}
