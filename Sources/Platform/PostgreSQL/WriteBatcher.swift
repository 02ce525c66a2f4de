public import EventLoop
internal import Synchronization

/// Gathers small writes of one loop while the last ones are on their way, so that a rush costs few round trips and few commits.
///
/// The first write of a quiet moment leaves at once. Who stops waiting is let go; the write itself stays as it is.
public final class WriteBatcher<Item: Sendable, Answer: Sendable>: Sendable {
  /// Writes all items in one statement and answers for each, in their order.
  public typealias Send = @Sendable ([Item]) async throws(DatabaseError) -> [Answer]

  private typealias Waiter = CheckedContinuation<Result<Answer, DatabaseError>, Never>

  private struct State {
    var queue: [(id: UInt64, item: Item)] = []
    var waiters: [UInt64: Waiter] = [:]
    var flights = 0
    var nextID: UInt64 = 0
  }

  private let loop: EventLoop
  private let maximumFlights: Int
  private let maximumItems: Int
  private let maximumWaiting: Int
  private let send: Send
  private let state = Mutex(State())

  /// A batcher that sends by `send`.
  ///
  /// - Parameters:
  ///   - loop: Where it sends.
  ///   - flights: Statements on their way at once.
  ///   - items: The most items of one statement.
  ///   - waiting: The most items that may wait; one more is refused.
  ///   - send: Writes one batch.
  public init(
    on loop: EventLoop, flights: Int = 2, items: Int = 128, waiting: Int = 16_384, send: @escaping Send
  ) {
    self.loop = loop
    maximumFlights = flights
    maximumItems = items
    maximumWaiting = waiting
    self.send = send
  }

  /// Writes one item together with whatever else waits.
  ///
  /// - Throws: ``DatabaseError``: `cancelled` when the task gave up, `poolExhausted` when too much waits, else what the statement threw.
  public func submit(_ item: Item) async throws(DatabaseError) -> Answer {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in enqueue(item, id, continuation) }
    } onCancel: {
      let waiter = state.withLock { state in
        // What has not left yet need not leave at all.
        state.queue.removeAll { $0.id == id }
        return state.waiters.removeValue(forKey: id)
      }
      waiter?.resume(returning: .failure(Self.cancelled))
    }
    return try result.get()
  }

  private func enqueue(_ item: Item, _ id: UInt64, _ waiter: Waiter) {
    let (refusal, startsFlight) = state.withLock { state -> (DatabaseError?, Bool) in
      guard !Task.isCancelled else { return (Self.cancelled, false) }
      guard state.queue.count < maximumWaiting else {
        return (DatabaseError(.poolExhausted, "too many writes wait for the database"), false)
      }
      state.queue.append((id, item))
      state.waiters[id] = waiter
      guard state.flights < maximumFlights else { return (nil, false) }
      state.flights += 1
      return (nil, true)
    }
    if let refusal { return waiter.resume(returning: .failure(refusal)) }
    if startsFlight { loop.spawn { await self.fly() } }
  }

  /// Sends until nothing waits.
  private func fly() async {
    while let items = takeNext() {
      let result: Result<[Answer], DatabaseError>
      do throws(DatabaseError) { result = .success(try await send(items.map(\.item))) } catch { result = .failure(error) }
      for (index, item) in items.enumerated() {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: item.id) }
        waiter?.resume(returning: result.map { $0[index] })
      }
    }
  }

  private func takeNext() -> [(id: UInt64, item: Item)]? {
    state.withLock { state in
      guard !state.queue.isEmpty else {
        state.flights -= 1
        return nil
      }
      let items = Array(state.queue.prefix(maximumItems))
      state.queue.removeFirst(items.count)
      return items
    }
  }

  private static var cancelled: DatabaseError { DatabaseError(.cancelled, "nobody waits for the write any more") }
}
