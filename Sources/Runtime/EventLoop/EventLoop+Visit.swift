extension EventLoop {
  /// Runs `body` on this loop for a caller that may be elsewhere, and returns where the caller was. A task of this loop stays on its
  /// stack.
  ///
  /// To be on the loop's thread is not enough to stay: whichever thread is at work for an actor runs the calls of others into it as
  /// well, and a task that prefers no loop, or that is inside an actor, may go on elsewhere after it has waited for something.
  public func visit<Value: Sendable, Failure: Error>(
    _ body: @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    if isHome(#isolation) { return try await body() }
    return try await withTaskExecutorPreference(self) { () async throws(Failure) -> Value in try await arrive(body) }
  }

  /// Whether the task that asks is one of this loop, and in no actor.
  private func isHome(_ isolation: (any Actor)?) -> Bool {
    guard isCurrent, isolation == nil else { return false }
    return withUnsafeCurrentTask { $0?.unownedTaskExecutor.map { $0 == UnownedTaskExecutor(ordinary: self) } ?? false }
  }

  /// The preference alone moves nobody: it says where a suspended task goes on. A resumption that overtakes its suspension
  /// does not move the task either, hence the loop.
  @concurrent
  private func arrive<Value: Sendable, Failure: Error>(
    _ body: @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    while !isCurrent {
      await withUnsafeContinuation { continuation in execute { continuation.resume() } }
    }
    return try await body()
  }
}
