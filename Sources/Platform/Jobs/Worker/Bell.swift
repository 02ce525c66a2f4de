internal import EventLoop
internal import Synchronization

/// Wakes the one task that waits for it; a ring that nobody hears is kept, several are one.
// SAFETY: the timer is touched on the loop only; all else is behind the lock.
final class Bell: @unchecked Sendable {
  private struct State {
    var hasRung = false
    var sleeper: CheckedContinuation<Void, Never>?
  }

  private let loop: EventLoop
  private let timer = LoopTimer()
  private let state = Mutex(State())

  init(on loop: EventLoop) {
    self.loop = loop
    timer.onFire = { [unowned self] in ring() }
  }

  /// From any thread.
  func ring() {
    let sleeper = state.withLock { state in
      guard let sleeper = state.sleeper else {
        state.hasRung = true
        return CheckedContinuation<Void, Never>?.none
      }
      state.sleeper = nil
      return sleeper
    }
    sleeper?.resume()
  }

  /// Suspends the calling task, which is one of the loop's, until the next ring, or for `longest`.
  func wait(atMost longest: Duration) async {
    loop.assertInLoop()
    loop.arm(timer, after: longest)
    await withCheckedContinuation { continuation in
      let hasRung = state.withLock { state in
        if state.hasRung {
          state.hasRung = false
          return true
        }
        state.sleeper = continuation
        return false
      }
      if hasRung { continuation.resume() }
    }
    loop.disarm(timer)
  }
}
