import EventLoop
import Jobs
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Values

@Suite("Administration")
struct AdministrationTests {
  private let kind = JobKind<[UInt8]>("test.bytes", retry: RetryPolicy(attempts: 1))

  /// A queue with as many dead jobs, each with a finished step.
  private func withDead(_ count: Int, _ body: (TestQueue, [UUID]) async throws -> Void) async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      var handlers = JobHandlers()
      handlers.handle(kind) { _, run in
        try await run.step("first") { () -> Void in }
        throw JobFailure.permanent("never")
      }
      let ids = try await test.queue.enqueue((0..<count).map { try kind.job([UInt8($0)], uniqueKey: "key \($0)") }).map(\.id)
      try await test.working(handlers) { (_: JobWorker) async throws -> Void in
        try await eventually { try await test.count("work.dead_job") == count }
      }
      try await body(test, ids)
    }
  }

  @Test("JOB-M6: a dead job is shown with its reason, and retried with all its attempts, its steps and another payload")
  func retry() async throws {
    try await withDead(1) { (test: TestQueue, ids: [UUID]) async throws -> Void in
      let dead = try #require(try await test.queue.job(ids[0]))
      #expect(dead.state == .dead && dead.reason == "permanent" && dead.lastError == "never" && dead.steps == 1)
      #expect(try await test.queue.retry(ids[0], payload: [7, 7]) == .retried)
      let alive = try #require(try await test.queue.job(ids[0]))
      #expect(alive.state == .ready && alive.attempt == 0 && alive.lastError == "never" && alive.steps == 1)
      let seen = Mutex<[UInt8]>([])
      var handlers = JobHandlers()
      handlers.handle(kind) { payload, run in
        try await run.step("first") { () -> Void in Issue.record("it was finished before") }
        seen.withLock { $0 = payload }
      }
      try await test.working(handlers) { (_: JobWorker) async throws -> Void in
        try await eventually { try await test.queue.job(ids[0]) == nil }
      }
      #expect(seen.withLock { $0 } == [7, 7])
      #expect(try await test.count("work.job_step") == 0)
      #expect(try await test.queue.retry(ids[0]) == .missing)
    }
  }

  @Test("JOB-M6: a dead job whose key a live one has is not retried; one that waits runs at once; one that runs is left alone")
  func refusals() async throws {
    try await withDead(1) { (test: TestQueue, ids: [UUID]) async throws -> Void in
      let later = try await test.queue.enqueue([
        kind.job([1], uniqueKey: "key 0", notBefore: test.clock.now.advanced(by: .seconds(3600)))
      ])[0]
      #expect(later.isNew)
      #expect(try await test.queue.retry(ids[0]) == .taken)
      #expect(try await test.queue.job(ids[0])?.state == .dead)
      #expect(try await test.queue.retry(later.id) == .retried)
      #expect(try await test.queue.job(later.id)?.state == .ready)
      let begun = Signal()
      let release = Signal()
      var handlers = JobHandlers()
      handlers.handle(kind) { _, _ in
        begun.fire()
        try await release.wait(atMost: .seconds(60))
      }
      try await test.working(handlers) { (_: JobWorker) async throws -> Void in
        try await begun.wait(atMost: .seconds(30))
        #expect(try await test.queue.retry(later.id) == .running)
        #expect(try await test.queue.purgeWaiting([later.id]) == 0)
        release.fire()
        try await eventually { try await test.queue.job(later.id) == nil }
      }
      let error = await #expect(throws: JobError.self) {
        try await test.queue.retry(ids[0], payload: [UInt8](repeating: 0, count: NewJob.longestPayload + 1))
      }
      #expect(error?.code == .invalidJob)
    }
  }

  @Test("JOB-M6: dead jobs are purged by name, by kind and by age, a batch at a time, with their steps")
  func purge() async throws {
    try await withDead(7) { (test: TestQueue, ids: [UUID]) async throws -> Void in
      #expect(try await test.count("work.job_step") == 7)
      #expect(try await test.queue.purgeDead(nil, JobFilter(kind: "test.other"), atMost: 100) == 0)
      #expect(try await test.queue.purgeDead(nil, JobFilter(queue: "other"), atMost: 100) == 0)
      #expect(try await test.queue.purgeDead([ids[3]], atMost: 100) == 1)
      test.clock.advance(by: .seconds(60))
      #expect(try await test.queue.purgeDead(olderThan: .seconds(60) + .microseconds(1), atMost: 100) == 0)
      #expect(try await test.queue.purgeDead(olderThan: .seconds(60), atMost: 4) == 4)
      #expect(try await test.queue.purgeDead(nil, JobFilter(queue: "default", kind: "test.bytes"), atMost: 4) == 2)
      #expect(try await test.count("work.dead_job") == 0)
      #expect(try await test.count("work.job_step") == 0)
    }
  }

  @Test("Jobs are listed page by page and by queue, kind, state and person")
  func list() async throws {
    try await withDead(2) { (test: TestQueue, dead: [UUID]) async throws -> Void in
      let (ana, ben) = (UUID.v7(), UUID.v7())
      try await test.take("test.other")
      let other = JobKind<[UInt8]>("test.other", queue: "other", priority: .low)
      let future = test.clock.now.advanced(by: .seconds(9))
      let live = try await test.queue.enqueue([
        kind.job([1, 2], user: ana), kind.job([], user: ben, notBefore: future), other.job([], user: ana),
      ]).map(\.id)
      let all = Set(dead + live)
      #expect(Set(try await test.queue.list(atMost: 100).map(\.id)) == all)
      var pages: [UUID] = []
      while let last = try await test.queue.list(after: pages.last, atMost: 2).map(\.id).last {
        pages += try await test.queue.list(after: pages.last, atMost: 2).map(\.id)
        #expect(pages.last == last)
      }
      #expect(pages.count == 5 && Set(pages) == all)
      func ids(_ filter: JobFilter) async throws -> Set<UUID> { Set(try await test.queue.list(filter, atMost: 100).map(\.id)) }
      #expect(try await ids(JobFilter(queue: "other")) == [live[2]])
      #expect(try await ids(JobFilter(kind: "test.bytes")) == Set(dead + live[0...1]))
      #expect(try await ids(JobFilter(state: .dead)) == Set(dead))
      #expect(try await ids(JobFilter(state: .scheduled)) == [live[1]])
      #expect(try await ids(JobFilter(state: .ready)) == [live[0], live[2]])
      #expect(try await ids(JobFilter(state: .ready, user: ana)) == [live[0], live[2]])
      let job = try #require(try await test.queue.job(live[2]))
      #expect(job.priority == 2 && job.user == ana && job.uniqueKey == nil && job.version == 1)
    }
  }

  @Test("All jobs of a person are removed with the transaction that says so, but the one that does it")
  func forget() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let (ana, ben) = (UUID.v7(), UUID.v7())
      let ids = try await test.queue.enqueue([
        kind.job([], user: ana), kind.job([], user: ana), kind.job([], user: ben), kind.job([]),
      ]).map(\.id)
      struct Refusal: Error {}
      await #expect(throws: Refusal.self) {
        try await test.database.transaction { transaction in
          #expect(try await test.queue.forget(ana, in: transaction) == 2)
          throw Refusal()
        }
      }
      #expect(try await test.count("work.job") == 4)
      #expect(try await test.database.transaction { try await test.queue.forget(ana, but: ids[1], in: $0) } == 1)
      #expect(Set(try await test.queue.list(atMost: 10).map(\.id)) == Set(ids[1...]))
    }
  }

  @Test("What queues hold and for how long is shown as metrics")
  func metrics() async throws {
    try await withDead(1) { (test: TestQueue, _: [UUID]) async throws -> Void in
      try await test.queue.enqueue([
        kind.job([1], notBefore: test.clock.now.advanced(by: .seconds(-90))), kind.job([2], notBefore: .distantFuture),
      ])
      #expect(try await test.queue.pause("idle", by: "ana"))
      test.metrics.publish(try await test.queue.statistics(), at: test.clock.now)
      #expect(test.samples("parley_jobs{").count == 10)
      for sample in [
        #"parley_jobs{queue="default",state="ready"} 1"#, #"parley_jobs{queue="default",state="scheduled"} 1"#,
        #"parley_jobs{queue="default",state="running"} 0"#, #"parley_jobs{queue="default",state="dead"} 1"#,
        #"parley_jobs{queue="default",state="held"} 0"#,
      ] { #expect(test.samples("parley_jobs{").contains(sample)) }
      #expect(test.samples("parley_job_oldest_ready_seconds{").contains(#"parley_job_oldest_ready_seconds{queue="default"} 90"#))
      #expect(test.samples("parley_job_queue_paused{").contains(#"parley_job_queue_paused{queue="idle"} 1"#))
    }
  }
}
