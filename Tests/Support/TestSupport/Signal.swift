/// Lets a test wait for an event, with a deadline and without blocking a thread.
public final class Signal: Sendable {
  private let stream: AsyncStream<Void>
  private let source: AsyncStream<Void>.Continuation

  /// Nothing has happened yet.
  public init() { (stream, source) = AsyncStream.makeStream() }

  /// Says that the event has happened once more.
  public func fire() { source.yield() }

  /// Waits for one event that nobody has waited for yet.
  ///
  /// - Throws: ``TimedOut``.
  public func wait(atMost limit: Duration = .seconds(10)) async throws {
    let stream = stream
    try await within(limit) {
      var iterator = stream.makeAsyncIterator()
      _ = await iterator.next()
    }
  }
}

/// Runs `body` and throws ``TimedOut`` when it takes longer than `limit`.
public func within<Value: Sendable>(
  _ limit: Duration, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await withThrowingTaskGroup(of: Value?.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: limit.withPatience)
      return nil
    }
    defer { group.cancelAll() }
    guard let value = try await group.next() ?? nil else { throw TimedOut("still waiting after \(limit)") }
    return value
  }
}
