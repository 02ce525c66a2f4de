import EventLoop
import Jobs
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Values

@Suite("Held jobs")
struct HeldJobsTests {
  private let known = JobKind<[UInt8]>("test.bytes")
  private let unknown = JobKind<[UInt8]>("calls.demo", retry: .never)

  @Test("A job that nobody handles yet is held: not claimed, no attempt spent, never dead, out of the way of others")
  func held() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let ran = Signal()
      var handlers = JobHandlers()
      handlers.handle(known) { _, _ in ran.fire() }
      try await test.working(handlers) { (worker: JobWorker) async throws -> Void in
        let held = try await test.queue.enqueue([
          unknown.job([1], uniqueKey: "ana", priority: .urgent),
          unknown.job([2], notBefore: test.clock.now.advanced(by: .seconds(5))),
        ]).map(\.id)
        // The same effect is asked for once, also while it is held.
        let again = try await test.queue.enqueue([unknown.job([3], uniqueKey: "ana")])[0]
        #expect(again.id == held[0] && !again.isNew)
        for _ in 0..<3 {
          // Longer than any lease, pause or retention.
          test.clock.advance(by: .seconds(40 * 86_400))
          try await test.queue.enqueue([known.job([])])
          worker.wake()
          try await ran.wait(atMost: .seconds(30))
        }
        try await eventually { try await test.count("work.job where not held") == 0 }
        for id in held {
          let job = try #require(try await test.queue.job(id))
          #expect(job.state == .held && job.attempt == 0 && job.holder == "" && job.lastError == "")
        }
        #expect(Set(try await test.queue.list(JobFilter(state: .held), atMost: 10).map(\.id)) == Set(held))
        #expect(try await test.count("work.dead_job") == 0)
        let statistics = try await test.queue.statistics()
        #expect(statistics.map(\.held) == [2] && statistics.map(\.ready) == [0] && statistics[0].oldestDueAt == nil)
        test.metrics.publish(statistics, at: test.clock.now)
        #expect(test.samples("parley_jobs{").contains(#"parley_jobs{queue="default",state="held"} 2"#))
        // An operator's wish changes nothing about that.
        #expect(try await test.queue.retry(held[0]) == .retried)
        #expect(try await test.queue.job(held[0])?.state == .held)
      }
    }
  }

  @Test("Held jobs run once their taker exists, all of them, each once, also when a worker without it goes on beside")
  func taken() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      var few = JobHandlers()
      few.handle(known) { _, _ in }
      try await test.working(few) { (_: JobWorker) async throws -> Void in
        try await test.queue.enqueue((0..<600).map { try unknown.job([UInt8($0 % 256)], uniqueKey: "\($0)") })
        let later = try await test.queue.enqueue([unknown.job([], notBefore: test.clock.now.advanced(by: .seconds(3_600)))])[0].id
        #expect(try await test.queue.statistics().map(\.held) == [601])
        test.clock.advance(by: .seconds(600))
        let runs = Mutex<[UUID: Int]>([:])
        var all = JobHandlers()
        all.handle(known) { _, _ in }
        all.handle(unknown) { _, run in
          #expect(run.attempt == 1)
          runs.withLock { $0[run.id, default: 0] += 1 }
        }
        try await test.working(all) { (_: JobWorker) async throws -> Void in
          try await eventually { try await test.count("work.job") == 1 }
          #expect(runs.withLock { $0.count == 600 && $0.values.allSatisfy { $0 == 1 } })
          // What has its time keeps it.
          #expect(try await test.queue.job(later)?.state == .scheduled)
        }
        // A kind that had a taker is not held when that is away: somebody should know that its jobs wait.
        let waiting = try await test.queue.enqueue([unknown.job([])])[0].id
        #expect(try await test.queue.job(waiting)?.state == .ready)
        // How long they were held is not how long they waited for a worker.
        let waits = test.samples("parley_job_wait_seconds_bucket").filter { $0.contains(#"le="1""#) }
        #expect(waits.allSatisfy { $0.hasSuffix(" 600") } && !waits.isEmpty, "\(test.samples("parley_job_wait_seconds"))")
      }
    }
  }

  @Test("A job whose taker comes while its transaction is open is not forgotten")
  func race() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let ran = Signal()
      var handlers = JobHandlers()
      handlers.handle(unknown) { _, _ in ran.fire() }
      var settings = WorkerSettings.quick
      settings.poll = .seconds(600)
      let isAdded = Signal()
      let isTaken = Signal()
      let adding = Task {
        try await test.database.transaction { transaction in
          try await test.queue.enqueue([unknown.job([])], in: transaction)
          #expect(try await transaction.value("select held from work.job") == true)
          isAdded.fire()
          try await isTaken.wait(atMost: .seconds(60))
        }
      }
      try await isAdded.wait(atMost: .seconds(30))
      try await test.working(handlers, settings) { (_: JobWorker) async throws -> Void in
        try await eventually { try await test.count("work.job_taker") == 1 }
        isTaken.fire()
        try await adding.value
        try await ran.wait(atMost: .seconds(30))
        try await eventually { try await test.count("work.job") == 0 }
      }
    }
  }
}
