import EventLoop
import Synchronization

/// Counts events and lets a test wait for the n-th, with a deadline and without blocking a thread.
final class Signal: Sendable {
  struct TimedOut: Error { let count: Int }

  private let stream: AsyncStream<Void>
  private let source: AsyncStream<Void>.Continuation

  init() { (stream, source) = AsyncStream.makeStream() }

  func fire() { source.yield() }

  /// Waits for one event that nobody has waited for yet.
  func wait(atMost limit: Duration = .seconds(10)) async throws {
    let stream = stream
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        var iterator = stream.makeAsyncIterator()
        return await iterator.next() != nil
      }
      group.addTask {
        try await Task.sleep(for: limit)
        return false
      }
      let happened = try await group.next() ?? false
      group.cancelAll()
      if !happened { throw TimedOut(count: 0) }
    }
  }
}
