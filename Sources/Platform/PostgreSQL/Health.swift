internal import Synchronization

/// How many loops have their read connection, and who wants to know when all have it, or no longer all.
final class Health: Sendable {
  private struct State {
    var ready = 0
    var loops: Int
    var isReady: Bool { ready == loops }
    var observers: [@Sendable (Bool) -> Void] = []
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var nextWaiter = 0
  }

  private let state: Mutex<State>

  init(loops: Int) { state = Mutex(State(loops: loops)) }

  var isReady: Bool { state.withLock { $0.isReady } }

  func loopDidChange(_ isReady: Bool) {
    let (change, observers, waiters) = state.withLock { state in
      let before = state.isReady
      state.ready += isReady ? 1 : -1
      guard before != state.isReady else { return (Bool?.none, state.observers, [CheckedContinuation<Void, Never>]()) }
      let waiters = state.isReady ? Array(state.waiters.values) : []
      if state.isReady { state.waiters = [:] }
      return (state.isReady, state.observers, waiters)
    }
    guard let change else { return }
    for observer in observers { observer(change) }
    for waiter in waiters { waiter.resume() }
  }

  func observe(_ observer: @escaping @Sendable (Bool) -> Void) {
    let isReady = state.withLock { state in
      state.observers.append(observer)
      return state.isReady
    }
    observer(isReady)
  }

  /// Suspends until all loops are ready, or the task is cancelled.
  func waitUntilReady() async {
    let id = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          if state.isReady || Task.isCancelled { return true }
          state.waiters[id] = continuation
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
    }
  }
}
