internal import Synchronization

/// One suspended task and its timer. Cancellation may come from any thread, before or after the timer is armed.
// SAFETY: the timer is used on the loop only; the continuation is behind a lock.
final class Sleeper: @unchecked Sendable {
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
    onLoop(orElse: .failure(stopped)) {
      guard case .waiting = self.state.withLock({ $0 }) else { return }
      guard !self.loop.isStopping else { return self.stop() }
      self.timer.onFire = { self.end(.success(())) }
      self.loop.sleepers[ObjectIdentifier(self)] = self
      self.loop.arm(self.timer, at: deadline)
    }
  }

  func cancel() { onLoop(orElse: .failure(CancellationError())) { self.end(.failure(CancellationError())) } }

  /// The loop will fire no timer any more.
  func stop() { end(.failure(stopped)) }

  private var stopped: EventLoopError { EventLoopError(.stopped, "the loop \(loop.name) has stopped") }

  private func end(_ result: Result<Void, any Error>) {
    loop.disarm(timer)
    timer.onFire = {}
    loop.sleepers[ObjectIdentifier(self)] = nil
    resume(with: result)
  }

  private func resume(with result: Result<Void, any Error>) {
    let waiting = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      defer { state = .done }
      guard case .waiting(let continuation) = state else { return nil }
      return continuation
    }
    waiting?.resume(with: result)
  }

  /// Runs `body` on the loop. One that has ended runs nothing: the task then goes on with `result`, where it stands.
  private func onLoop(orElse result: Result<Void, any Error>, _ body: @escaping @Sendable () -> Void) {
    if loop.isCurrent { body() } else if !loop.execute(body) { resume(with: result) }
  }
}
