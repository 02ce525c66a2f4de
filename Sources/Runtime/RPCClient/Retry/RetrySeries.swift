internal import EventLoop
internal import RPC

/// The attempts of one call that has failed at least once: whether there is another one, and the wait before it.
///
// SAFETY: used on its loop only; cancellation, which may come from any thread, hops there first.
final class RetrySeries: @unchecked Sendable {
  /// The plan of the next attempt.
  private(set) var plan: CallPlan
  private let loop: EventLoop
  private var state: RetryState
  private let timer = LoopTimer()
  private var sleeper: UnsafeContinuation<Void, Never>?
  private var isEnded = false

  init(_ plan: CallPlan, on part: ClientLoop) {
    self.plan = plan
    loop = part.loop
    state = RetryState(plan.retry, part.context.throttle)
    timer.onFire = { [unowned self] in wake() }
  }

  /// Judges an attempt that has failed, and waits until the next one is due.
  ///
  /// - Returns: Whether there is a next one. There is none that would begin at the deadline or later.
  /// - Throws: ``RPCError`` with ``StatusCode/cancelled`` when the call was given up meanwhile.
  func goesOn(after outcome: CallOutcome) async throws(RPCError) -> Bool {
    guard let error = outcome.error, case .again(let wait) = state.failed(error.code, outcome.pushback, outcome.reach) else {
      return false
    }
    if let deadline = plan.deadline, deadline.timeLeft <= wait { return false }
    plan.previousAttempts = state.previousAttempts
    if wait > .zero { await sleep(wait) }
    if isEnded || Task.isCancelled { throw RPCError(.cancelled, "the call was cancelled") }
    return true
  }

  /// Ends the wait and the call.
  func end() {
    isEnded = true
    wake()
  }

  private func sleep(_ wait: Duration) async {
    guard !isEnded else { return }
    loop.arm(timer, after: wait)
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        if Task.isCancelled { continuation.resume() } else { sleeper = continuation }
      }
    } onCancel: {
      // Once the loop has ended nobody else touches what belonged to it.
      if !loop.execute({ self.wake() }) { wake() }
    }
    if loop.isCurrent { loop.disarm(timer) }
  }

  private func wake() {
    sleeper?.resume()
    sleeper = nil
  }
}
