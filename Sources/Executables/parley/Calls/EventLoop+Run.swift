import EventLoop

extension EventLoop {
  /// Runs `body` and then, whatever came of it, `cleanUp`, both as one task of this loop.
  ///
  /// Clients whose connections live on a loop are called there without a hop.
  func run<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value, finally cleanUp: @escaping @Sendable () async -> Void
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      spawn {
        let outcome: Result<Value, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        await cleanUp()
        continuation.resume(with: outcome)
      }
    }
  }
}
