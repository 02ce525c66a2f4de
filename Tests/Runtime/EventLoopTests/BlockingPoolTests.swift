import EventLoop
import Synchronization
import TestSupport
import Testing

@Suite("The pool for what blocks")
struct BlockingPoolTests {
  struct Failure: Error {}

  @Test("As many calls run at once as there are threads, also right after one thread fell idle")
  func parallel() async throws {
    for _ in 0..<30 {
      let pool = BlockingPool(maximumThreads: 4)
      _ = try await pool.run { 0 }
      let running = Tally("calls running")
      let clock = ContinuousClock()
      try await withThrowingTaskGroup(of: Bool.self) { calls in
        for _ in 0..<4 {
          calls.addTask {
            try await pool.run {
              running.add()
              let end = clock.now + .seconds(5)
              // Each returns only once all four are here.
              while running.value < 4 { if clock.now > end { return false } }
              return true
            }
          }
        }
        for try await wereTogether in calls { #expect(wereTogether) }
      }
      pool.shutDown()
    }
  }

  @Test("What waits beyond the threads runs in order; results and errors come back")
  func queue() async throws {
    let pool = BlockingPool(maximumThreads: 1)
    let order = Mutex<[Int]>([])
    for number in 0..<50 {
      #expect(
        try await pool.run {
          order.withLock { $0.append(number) }; return number
        } == number)
    }
    #expect(order.withLock { $0 } == Array(0..<50))
    await #expect(throws: Failure.self) { try await pool.run { throw Failure() } }
    pool.shutDown()
  }

  @Test("A pool that is shut down finishes its queue and refuses what comes later")
  func shutDown() async throws {
    let pool = BlockingPool(maximumThreads: 1)
    let done = Tally("calls")
    let calls = (0..<20).map { _ in Task { try await pool.run { done.add() } } }
    try await done.reaches(1)
    for call in calls { try await call.value }
    pool.shutDown()
    let error = await #expect(throws: EventLoopError.self) { try await pool.run { 1 } }
    #expect(error?.code == .stopped)
  }

  @Test("A task of a loop comes back to it")
  func comesBack() async throws {
    let group = try EventLoopGroup(count: 1)
    let loop = group.loops[0]
    try await loop.perform {
      let wasElsewhere = try await group.blocking.run { EventLoop.current == nil }
      #expect(wasElsewhere && loop.isCurrent)
    }
    group.shutDown()
  }
}
