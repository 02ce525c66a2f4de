public import EventLoop

extension EventLoop {
  /// Runs `body` on this loop, from its first line to its last, and returns what it returned.
  public func perform<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { tasks in
      tasks.addTask(executorPreference: self) { try await body() }
      guard let value = try await tasks.next() else { throw CancellationError() }
      return value
    }
  }
}
