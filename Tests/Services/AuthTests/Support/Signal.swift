/// Lets a test wait for an event, with a deadline and without blocking a thread.
final class Signal: Sendable {
  struct TimedOut: Error {}

  private let stream: AsyncStream<Void>
  private let source: AsyncStream<Void>.Continuation

  init() { (stream, source) = AsyncStream.makeStream() }

  func fire() { source.yield() }

  /// Waits for one event that nobody has waited for yet.
  func wait(atMost limit: Duration = .seconds(10)) async throws {
    let stream = stream
    try await within(limit) {
      var iterator = stream.makeAsyncIterator()
      _ = await iterator.next()
    }
  }
}

/// Runs `body` and fails when it takes longer than `limit`.
func within<Value: Sendable>(_ limit: Duration, _ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
  try await withThrowingTaskGroup(of: Value?.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: limit)
      return nil
    }
    defer { group.cancelAll() }
    guard let value = try await group.next() ?? nil else { throw Signal.TimedOut() }
    return value
  }
}

/// Asks again and again, with a deadline, until the condition holds.
func eventually(atMost limit: Duration = .seconds(15), _ condition: @escaping @Sendable () async -> Bool) async throws {
  try await within(limit) {
    while !(await condition()) { try await Task.sleep(for: .milliseconds(20)) }
  }
}
