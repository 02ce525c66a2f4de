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

  /// Spreads the orders over a time, and goes on at that pace until it has been told that it is enough.
  ///
  /// - Returns: How many.
  func send(over time: Duration, isEnough: @Sendable () -> Bool) async throws -> Int {
    await place.database.waitUntilReady()
    let began = MonotonicInstant.now()
    var first = 0
    while first < count || !isEnough() {
      let numbers = (first..<(first + batch)).map(Int64.init)
      try await insist(numbers)
      first += batch
      let due = began.advanced(by: time / count * first)
      while due > .now() && !(first >= count && isEnough()) { try await place.loop.sleep(for: .milliseconds(20)) }
    }
    return first
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
