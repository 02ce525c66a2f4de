extension EventLoop {
  /// Runs `body` on this loop for a caller that may be elsewhere, and returns where the caller was. A task of this loop stays on its
  /// stack.
  ///
  /// To be on the loop's thread is not enough to stay: whichever thread is at work for an actor runs the calls of others into it as
  /// well, and a task that prefers no loop, or that is inside an actor, may go on elsewhere after it has waited for something.
  ///
  /// A loop that has ended runs nothing. A body that throws is not run then, and the visit throws ``EventLoopError`` with
  /// ``EventLoopError/Code/stopped``, or what a ``StoppedLoopReporting`` error makes of it. A body that throws nothing, or nothing that
  /// could say so, runs where the caller is, as tasks do that are resumed after the end: for one that must not,
  /// ``visit(ifStopped:_:)`` answers.
  public func visit<Value: Sendable, Failure: Error>(
    _ body: @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    if isHome(#isolation) { return try await body() }
    return try await withTaskExecutorPreference(self) { () async throws(Failure) -> Value in
      try await arrive(body) { () async throws(Failure) -> Value in
        if let failure = stopped(as: Failure.self) { throw failure }
        return try await body()
      }
    }
  }

  /// Runs `body` as ``visit(_:)`` does, and answers with `value` in its place once the loop has ended.
  public func visit<Value: Sendable, Failure: Error>(
    ifStopped value: Value, _ body: @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    if isHome(#isolation) { return try await body() }
    return try await withTaskExecutorPreference(self) { () async throws(Failure) -> Value in
      try await arrive(body) { () async throws(Failure) -> Value in value }
    }
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
    _ body: @Sendable () async throws(Failure) -> Value, ifStopped answer: @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    while !isCurrent {
      let isRunning = await withUnsafeContinuation { continuation in
        if !execute({ continuation.resume(returning: true) }) { continuation.resume(returning: false) }
      }
      guard isRunning else { return try await answer() }
    }
    return try await body()
  }

  /// That the loop has ended, as an error of this type; nil for a type that cannot say it.
  private func stopped<Failure: Error>(as type: Failure.Type) -> Failure? {
    let error = EventLoopError(.stopped, "the loop \(name) has stopped")
    if let reporting = type as? any StoppedLoopReporting.Type { return reporting.init(stopped: error) as? Failure }
    return (error as any Error) as? Failure
  }
}

/// An error of another layer that can say that a loop has ended, for visits whose bodies throw that type alone.
public protocol StoppedLoopReporting: Error {
  /// What a visit of a loop that has ended fails with.
  init(stopped error: EventLoopError)
}
