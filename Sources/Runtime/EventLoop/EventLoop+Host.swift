extension EventLoop {
  /// Runs `body` on this loop for a caller that may be elsewhere, and returns where the caller was.
  public func host<Value: Sendable, Failure: Error>(
    _ body: @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    if isCurrent { return try await body() }
    return try await withTaskExecutorPreference(self) { () async throws(Failure) -> Value in try await arrive(body) }
  }

  /// A preference alone moves nobody: it says where a suspended task goes on. A resumption that overtakes its suspension does
  /// not move the task either, hence the loop.
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
