import EventLoop
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Values

@testable import Jobs

@Suite("Places of workers")
struct PlaceTests {
  private let kind = JobKind<[UInt8]>("test.bytes", retry: RetryPolicy(attempts: 2, firstPause: .seconds(4)))
  private let other = JobKind<[UInt8]>("test.other", queue: "other")

  /// Holds whoever comes until it is opened, whether that was cancelled or not.
  private final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    func pass() async {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          if !state.isOpen { state.waiting.append(continuation) }
          return state.isOpen
        }
        if isOpen { continuation.resume() }
      }
    }

    func open() {
      let waiting = state.withLock { state in
        defer { state = (true, []) }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
  }

  @Test(
    "A handler that is deaf to its timeout keeps neither its job nor its place, and what it does late counts for nothing (PF-01)")
  func deafToTimeout() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let gate = Gate()
      let deaf = JobKind<[UInt8]>(
        "test.deaf", retry: RetryPolicy(attempts: 2, firstPause: .seconds(4)), timeout: .milliseconds(50))
      let (begun, late) = (Signal(), Signal())
      let attempts = Mutex<[Int]>([])
      let refusals = Mutex<[String]>([])
      var handlers = JobHandlers()
      handlers.handle(deaf) { _, run in
        attempts.withLock { $0.append(run.attempt) }
        guard run.attempt == 1 else { return }
        begun.fire()
        await gate.pass()
        #expect(run.hasLostLease)
        for attempt in [
          { try await run.step("late") { () -> Void in Issue.record("a step of a run that was given up") } },
          { try await test.database.transaction { try await run.finish(in: $0) } },
          { try await run.report(1, of: 1) },
        ] as [@Sendable () async throws -> Void] {
          // Deaf as it is, it takes its cancellation nowhere.
          do { try await Task { try await attempt() }.value } catch {
            refusals.withLock { $0.append("\((error as? JobError)?.code.name ?? "\(error)")") }
          }
        }
        late.fire()
      }
      let ran = Signal()
      handlers.handle(kind) { _, _ in ran.fire() }
      var settings = WorkerSettings.quick
      // One place, and a lease that is prolonged before it is over: without an end to that both would be the handler's for ever.
      (settings.concurrency, settings.recallGrace, settings.lease) = (1, .milliseconds(200), .seconds(600))
      try await test.working(handlers, settings) { (worker: JobWorker) async throws -> Void in
        let id = try await test.queue.enqueue([deaf.job([])])[0].id
        try await begun.wait(atMost: .seconds(30))
        try await test.queue.enqueue([kind.job([1])])
        try await ran.wait(atMost: .seconds(30))
        try await eventually { try await test.queue.job(id)?.state == .scheduled }
        let job = try #require(try await test.queue.job(id))
        #expect(job.attempt == 1 && job.lastError == "it took too long" && job.holder == "")
        try await eventually { test.samples("parley_job_deaf_runs") == [#"parley_job_deaf_runs{kind="test.deaf"} 1"#] }
        test.clock.advance(by: .seconds(30))
        worker.wake()
        try await eventually { try await test.queue.job(id) == nil }
        gate.open()
        try await late.wait(atMost: .seconds(30))
        try await eventually { test.samples("parley_job_deaf_runs") == [#"parley_job_deaf_runs{kind="test.deaf"} 0"#] }
      }
      #expect(attempts.withLock { $0 } == [1, 2] && refusals.withLock { $0 } == ["lease_lost", "lease_lost", "lease_lost"])
      #expect(try await test.count("work.job_step") == 0)
      #expect(try await test.count("work.dead_job") == 0)
      #expect(
        Set(test.samples("parley_job_runs_total{kind=\"test.deaf\"")) == [
          #"parley_job_runs_total{kind="test.deaf",outcome="done"} 1"#,
          #"parley_job_runs_total{kind="test.deaf",outcome="failed"} 1"#,
        ])
    }
  }

  @Test("A handler that is deaf to the loss of its lease does not keep its place (PF-01)")
  func deafToLoss() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let gate = Gate()
      let (begun, ran) = (Signal(), Signal())
      var handlers = JobHandlers()
      handlers.handle(kind) { payload, run in
        guard payload == [1], run.attempt == 1 else { return ran.fire() }
        begun.fire()
        await gate.pass()
      }
      var settings = WorkerSettings.quick
      (settings.concurrency, settings.recallGrace, settings.lease) = (1, .milliseconds(200), .seconds(3))
      try await test.working(handlers, settings) { (worker: JobWorker) async throws -> Void in
        try await test.queue.enqueue([kind.job([1])])
        try await begun.wait(atMost: .seconds(30))
        // Another worker takes it, as after a pause of this one.
        try await test.database.execute("update work.job set run_lease = run_lease + 1, holder = 'another'")
        try await test.queue.enqueue([kind.job([2])])
        try await ran.wait(atMost: .seconds(30))
        gate.open()
      }
      #expect(try await test.count("work.job where holder = 'another'") == 1)
    }
  }

  @Test("A full default queue leaves the others their share of the places (PF-02)")
  func share() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let gate = Gate()
      let held = Mutex(0)
      let ran = Signal()
      var handlers = JobHandlers()
      handlers.handle(kind) { _, _ in
        held.withLock { $0 += 1 }
        await gate.pass()
      }
      handlers.handle(other) { _, _ in ran.fire() }
      var settings = WorkerSettings.quick
      // As a service has it: the default queue may have all places.
      settings.queues = [.init("default", concurrency: 8), .init("other", concurrency: 2)]
      settings.concurrency = 8
      settings.grace = .seconds(30)
      try await test.working(handlers, settings) { (_: JobWorker) async throws -> Void in
        try await test.queue.enqueue((0..<40).map { _ in try kind.job([]) })
        try await eventually { held.withLock { $0 } >= 6 }
        for _ in 1...5 {
          try await test.queue.enqueue([other.job([])])
          try await ran.wait(atMost: .seconds(30))
        }
        #expect(held.withLock { $0 } == 6)
        gate.open()
        try await eventually { try await test.count("work.job") == 0 }
      }
    }
  }

  @Test("Queues take turns where there are fewer places than queues (PF-02)")
  func turns() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let left = Mutex<Int?>(nil)
      let count = Mutex(0)
      var handlers = JobHandlers()
      handlers.handle(kind) { _, _ in count.withLock { $0 += 1 } }
      handlers.handle(other) { _, _ in left.withLock { $0 = 60 - count.withLock { $0 } } }
      var settings = WorkerSettings.quick
      settings.queues = [.init("default", concurrency: 1), .init("other", concurrency: 1)]
      settings.concurrency = 1
      try await test.queue.enqueue((0..<60).map { _ in try kind.job([]) } + [other.job([])])
      try await test.working(handlers, settings) { (_: JobWorker) async throws -> Void in
        try await eventually { try await test.count("work.job") == 0 }
      }
      #expect(left.withLock { $0 ?? 0 } >= 50, "\(left.withLock { "\($0 ?? -1)" })")
    }
  }

  @Test(
    "Shares never add up to more than there are places, and no queue has more than it may use",
    arguments: [(1, 1), (1, 3), (2, 2), (3, 2), (6, 2), (32, 4), (4_096, 5)])
  func shares(_ places: Int, _ queues: Int) {
    let settings = WorkerSettings(
      queues: (0..<queues).map { .init("q\($0)", concurrency: $0 == 0 ? places : 2) }, concurrency: places)
    let shares = settings.queues.map { settings.share(of: $0) }
    #expect(shares.reduce(0, +) <= places && zip(shares, settings.queues).allSatisfy { $0 <= $1.concurrency })
    #expect(shares.allSatisfy { $0 >= 1 } == (places >= queues))
  }

  @Test("The claim of a queue with nothing to do leaves before it takes, releases or notes anything (PF-13)")
  func emptyClaim() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      func claim(_ kinds: [String], from queue: String = "default") async throws -> [ClaimedJob] {
        try await test.queue.claim(8, from: queue, kinds: kinds, as: "one", for: .seconds(20))
      }
      try await test.take("test.bytes", "test.other", "test.held")
      let held = JobKind<[UInt8]>("test.held")
      // Whoever goes on fails from here.
      try await test.test.script("alter function work.job_claim_due rename to claim_due")
      let ways: [(what: String, kinds: [String], queue: String, begin: () async throws -> Void)] = [
        ("a job that is due", ["test.bytes"], "default", { try await test.queue.enqueue([kind.job([])]) }),
        (
          "one of the last priority", ["test.other"], "other",
          { try await test.queue.enqueue([other.job([], priority: .background)]) }
        ),
        (
          "a held one", ["test.held"], "default",
          {
            try await test.queue.enqueue([held.job([])])
            try await test.database.execute("update work.job set held = true where kind = 'test.held'")
          }
        ),
        (
          "a kind that nobody has taken", ["test.bytes", "test.new"], "default",
          {
            try await test.database.execute("delete from work.job_taker where kind = 'test.new'")
          }
        ),
      ]
      for (what, kinds, queue, begin) in ways {
        try await test.take("test.new")
        try await test.database.execute("delete from work.job")
        // Neither what is for later, nor what is another's, nor what is in another queue.
        try await test.queue.enqueue([
          kind.job([], notBefore: test.clock.now.advanced(by: .seconds(1))), JobKind<[UInt8]>("test.third").job([]),
          JobKind<[UInt8]>("test.bytes", queue: "third").job([]),
        ])
        #expect(try await claim(kinds, from: queue).isEmpty, "\(what)")
        try await begin()
        await #expect(throws: DatabaseError.self, "\(what)") { try await claim(kinds, from: queue) }
      }
      try await test.test.script("alter function work.claim_due rename to job_claim_due")
      #expect(try await claim(["test.bytes"], from: "third").count == 1)
    }
  }

  @Test("The claim of a queue with nothing to do reads no table, however much waits there for later (PF-13)")
  func emptyClaimOfMany() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      try await test.take("test.bytes")
      let now = test.clock.now
      func read() async throws -> Int64? {
        try await test.database.transaction { transaction in
          // Some more than the number of plans that are made for one execution alone.
          for _ in 0..<8 {
            let claimed: [Int32] = try await transaction.rows(
              """
              select attempt from work.job_claim(
                \(now), \(now.advanced(by: .seconds(20))), 'one', 'default', \(["test.bytes"]), \(Int32(8)))
              """)
            #expect(claimed.isEmpty)
          }
          return try await transaction.value(
            "select seq_tup_read from pg_stat_xact_user_tables where schemaname = 'work' and relname = 'job'")
        }
      }
      // A plan is kept that was made when nothing was there, and another is made when everything is known.
      #expect(try await read() == 0)
      try await test.database.execute(
        """
        insert into work.job (id, queue, kind, version, priority, payload, max_attempts, due_at, enqueued_at)
        select gen_random_uuid(), 'default', 'test.bytes', 1, 1, '', 1, \(now.advanced(by: .seconds(3_600))), \(now)
        from generate_series(1, 20000)
        """)
      #expect(try await read() == 0)
      try await test.test.script("analyze work.job")
      #expect(try await read() == 0)
    }
  }
}
