internal import Synchronization

extension EventLoop {
  /// Suspends the calling task until `deadline` on the loop's own clock, without leaving the loop.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  public func sleep(until deadline: MonotonicInstant) async throws {
    let sleeper = Sleeper(on: self)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { sleeper.start($0, until: deadline) }
    } onCancel: {
      sleeper.cancel()
    }
  }

  /// Suspends the calling task for `duration`.
  public func sleep(for duration: Duration) async throws { try await sleep(until: MonotonicInstant.now().advanced(by: duration)) }
}

/// One suspended task and its timer. Cancellation may come from any thread, before or after the timer is armed.
// SAFETY: the timer is used on the loop only; the continuation is behind a lock.
private final class Sleeper: @unchecked Sendable {
  private enum State {
    case idle
    case waiting(CheckedContinuation<Void, any Error>)
    case done
  }

  private let loop: EventLoop
  private let timer = LoopTimer()
  private let state = Mutex(State.idle)

  init(on loop: EventLoop) { self.loop = loop }

  func start(_ continuation: CheckedContinuation<Void, any Error>, until deadline: MonotonicInstant) {
    let isCancelled = state.withLock { state in
      if case .done = state { return true }
      state = .waiting(continuation)
      return false
    }
    guard !isCancelled else { return continuation.resume(throwing: CancellationError()) }
    onLoop {
      guard case .waiting = self.state.withLock({ $0 }) else { return }
      self.timer.onFire = { self.end(.success(())) }
      self.loop.arm(self.timer, at: deadline)
    }
  }

  func cancel() { onLoop { self.end(.failure(CancellationError())) } }

  private func end(_ result: Result<Void, any Error>) {
    loop.disarm(timer)
    timer.onFire = {}
    let waiting = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      defer { state = .done }
      guard case .waiting(let continuation) = state else { return nil }
      return continuation
    }
    waiting?.resume(with: result)
  }

  private func onLoop(_ body: @escaping @Sendable () -> Void) {
    if loop.isCurrent { body() } else { loop.execute(body) }
  }
}
