extension EventLoop {
  /// Suspends the calling task until `deadline` on the loop's own clock, without leaving the loop.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled; ``EventLoopError`` with ``EventLoopError/Code/stopped`` when
  ///   the loop has been stopped before, or is stopped meanwhile.
  public func sleep(until deadline: MonotonicInstant) async throws {
    let sleeper = Sleeper(on: self)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { sleeper.start($0, until: deadline) }
    } onCancel: {
      sleeper.cancel()
    }
  }

  /// Suspends the calling task for `duration`; otherwise like ``sleep(until:)``.
  public func sleep(for duration: Duration) async throws { try await sleep(until: MonotonicInstant.now().advanced(by: duration)) }
}
