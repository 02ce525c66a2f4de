import EventLoop
import Jobs
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("Runs")
struct RunTests {
  private let kind = JobKind<[UInt8]>("test.bytes", retry: RetryPolicy(attempts: 3, firstPause: .seconds(4)))

  @Test("JOB-M8: a worker runs what is enqueued, by what the notification says, and the job is gone")
  func runs() async throws {
    try await TestQueue.with { test in
      let ran = Signal()
      let seen = Mutex<[[UInt8]]>([])
      var handlers = JobHandlers()
      handlers.handle(kind) { payload, run in
        #expect(run.attempt == 1 && run.maximumAttempts == 3 && run.lease == 1)
        seen.withLock { $0.append(payload) }
        ran.fire()
      }
      var settings = WorkerSettings.quick
      settings.poll = .seconds(600)
      try await test.working(handlers, settings) { _ in
        // The worker looks once when it begins to listen; from then on only notifications wake it.
        try await test.queue.enqueue([kind.job([1])])
        try await ran.wait(atMost: .seconds(20))
        #expect(try await eventually { try await test.count("work.job") == 0 })
        try await test.queue.enqueue([kind.job([2])])
        try await ran.wait(atMost: .seconds(20))
        #expect(try await eventually { try await test.count("work.job") == 0 })
      }
      #expect(seen.withLock { $0 } == [[1], [2]])
    }
  }
}
