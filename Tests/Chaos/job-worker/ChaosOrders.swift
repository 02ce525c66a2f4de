internal import EventLoop
internal import Jobs
internal import PostgreSQL

/// Orders work, as a service does: a row of its own and the job in one transaction, again after each failure.
struct ChaosOrders {
  static let kind = JobKind<Int64>(
    "chaos.work", retry: RetryPolicy(attempts: 1_000, firstPause: .milliseconds(50), longestPause: .seconds(1)),
    encode: { Array("\($0)".utf8) }, decode: { Int64(String(decoding: $0, as: UTF8.self)) ?? -1 })
  /// What is rolled back bears numbers from here on: no effect may ever have one.
  static let ghosts: Int64 = 1_000_000_000

  private struct RolledBack: Error {}

  let place: ChaosPlace
  let count: Int
  let batch: Int

  /// Spreads the orders over a time.
  func send(over time: Duration) async throws {
    await place.database.waitUntilReady()
    let began = MonotonicInstant.now()
    var first = 0
    while first < count {
      let numbers = (first..<min(first + batch, count)).map(Int64.init)
      try await insist(numbers)
      first += numbers.count
      let due = began.advanced(by: time / count * first)
      if due > .now() { try await place.loop.sleep(for: due.duration(since: .now())) }
    }
  }

  private func insist(_ numbers: [Int64]) async throws {
    while true {
      do {
        if numbers[0] % 3 == 0 { try await orderInVain(numbers) }
        return try await order(numbers)
      } catch {
        // Where an answer was lost with its connection the commit may have happened.
        try await place.loop.sleep(for: .milliseconds(100))
      }
    }
  }

  private func order(_ numbers: [Int64]) async throws {
    try await place.database.transaction { transaction in
      let known: Int64 = try await transaction.value("select count(*) from work.ordered where number = any(\(numbers))") ?? 0
      if known == Int64(numbers.count) { return }
      try await transaction.execute("insert into work.ordered select unnest(\(numbers))")
      // Some are asked for twice under one key.
      let jobs = try numbers.flatMap { number in
        try (0..<(number % 2 == 0 ? 1 : 2)).map { _ in try Self.kind.job(number, uniqueKey: number % 2 == 0 ? nil : "\(number)") }
      }
      try await place.queue.enqueue(jobs, in: transaction)
    }
  }

  private func orderInVain(_ numbers: [Int64]) async throws {
    do {
      try await place.database.transaction { transaction in
        try await place.queue.enqueue(try numbers.map { try Self.kind.job(Self.ghosts + $0) }, in: transaction)
        throw RolledBack()
      }
    } catch is RolledBack {}
  }
}
