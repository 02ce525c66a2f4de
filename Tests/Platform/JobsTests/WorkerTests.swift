import EventLoop
import Jobs
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Values

@Suite("Workers")
struct WorkerTests {
  private struct Trouble: Error {}
  private let kind = JobKind<[UInt8]>("test.bytes", retry: RetryPolicy(attempts: 3, firstPause: .seconds(4)))

  @Test("JOB-M8: a notification alone wakes an idle worker, and a job that is done is gone")
  func notifications() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
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
      try await test.working(handlers, settings) { (_: JobWorker) async throws -> Void in
        for number in 1...3 {
          try await test.queue.enqueue([kind.job([UInt8(number)])])
          try await ran.wait(atMost: .seconds(30))
          try await eventually { try await test.count("work.job") == 0 }
        }
      }
      #expect(seen.withLock { $0 } == [[1], [2], [3]])
      #expect(test.samples("parley_job_runs_total") == [#"parley_job_runs_total{kind="test.bytes",outcome="done"} 3"#])
    }
  }

  @Test("JOB-M8: a job whose notification was lost is found by looking")
  func lostNotification() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let ran = Signal()
      var handlers = JobHandlers()
      handlers.handle(kind) { _, _ in ran.fire() }
      try await test.working(handlers) { (_: JobWorker) async throws -> Void in
        try await test.queue.enqueue([kind.job([1])])
        try await ran.wait(atMost: .seconds(30))
        // What is written past the queue's functions notifies nobody.
        try await test.database.execute(
          """
          insert into work.job (id, queue, kind, version, priority, payload, max_attempts, due_at, enqueued_at)
          values (\(UUID.v7()), 'default', 'test.bytes', 1, 1, '', 1, \(test.clock.now), \(test.clock.now))
          """)
        try await ran.wait(atMost: .seconds(30))
        try await eventually { try await test.count("work.job") == 0 }
      }
    }
  }

  @Test("A job that gives way spends no attempt, however often it does, and who goes first is seen as long as its run lasts")
  func givingWay() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let goesFirst = Mutex<(id: UUID, lease: Int64)?>(nil)
      let (began, mayEnd) = (Signal(), Signal())
      var handlers = JobHandlers()
      handlers.handle(kind) { payload, run in
        if payload == [1] {
          goesFirst.withLock { $0 = (run.id, run.lease) }
          began.fire()
          return try await mayEnd.wait(atMost: .seconds(120))
        }
        let first = try #require(goesFirst.withLock { $0 })
        let isThere = run.isRunning("\(first.id)::uuid", lease: "\(first.lease)::bigint")
        let another = run.isRunning("\(first.id)::uuid", lease: "\(first.lease + 1)::bigint")
        #expect(try await test.database.value("select \(part: another)") == false)
        if try await test.database.value("select \(part: isThere)") == true {
          throw JobFailure.giveWay(for: .seconds(7), "one goes first")
        }
        #expect(run.attempt == 1)
      }
      try await test.working(handlers) { (worker: JobWorker) async throws -> Void in
        try await test.queue.enqueue([kind.job([1])])
        try await began.wait(atMost: .seconds(30))
        let id = try await test.queue.enqueue([kind.job([2])])[0].id
        for _ in 1...5 {
          try await eventually {
            let job = try await test.queue.job(id)
            return job?.state == .scheduled && job?.at == test.clock.now.advanced(by: .seconds(7)) && job?.attempt == 0
          }
          test.clock.advance(by: .seconds(7))
          worker.wake()
        }
        try await eventually { try await test.queue.job(id)?.state == .scheduled }
        mayEnd.fire()
        try await eventually { try await test.count("work.job") == 1 }
        test.clock.advance(by: .seconds(7))
        worker.wake()
        try await eventually { try await test.count("work.job") == 0 }
        #expect(try await test.count("work.dead_job") == 0)
      }
    }
  }

  @Test("JOB-M5: a failed job waits its pause, keeps the error, and is dead with its reason after the last attempt")
  func retries() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let ran = Signal()
      var handlers = JobHandlers()
      handlers.handle(kind) { _, run in
        ran.fire()
        throw JobFailure.retry(after: .seconds(30), "busy \(run.attempt)")
      }
      try await test.working(handlers) { (worker: JobWorker) async throws -> Void in
        let id = try await test.queue.enqueue([kind.job([1], uniqueKey: "a")])[0].id
        for attempt in 1...2 {
          try await ran.wait(atMost: .seconds(30))
          try await eventually { try await test.queue.job(id)?.state == .scheduled }
          let job = try #require(try await test.queue.job(id))
          #expect(job.attempt == attempt && job.lastError == "busy \(attempt)" && job.holder == "")
          // Half of the first pause behind what was asked for.
          #expect(job.at == test.clock.now.advanced(by: .seconds(32)))
          test.clock.advance(by: .seconds(32))
          worker.wake()
        }
        try await ran.wait(atMost: .seconds(30))
        try await eventually { try await test.queue.job(id)?.state == .dead }
        let dead = try #require(try await test.queue.job(id))
        #expect(dead.reason == "exhausted" && dead.lastError == "busy 3" && dead.attempt == 3)
        #expect(try await test.count("work.job") == 0)
        // Its unique key is free again.
        #expect(try await test.queue.enqueue([kind.job([1], uniqueKey: "a", notBefore: .distantFuture)])[0].isNew)
      }
    }
  }

  @Test("JOB-M5: permanent failures and payloads that cannot be read are dead at once")
  func permanent() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let unreadable = JobKind<Int>("test.number", encode: { [UInt8($0)] }, decode: { _ in throw Trouble() })
      var handlers = JobHandlers()
      handlers.handle(kind) { _, _ in throw JobFailure.permanent("no such person") }
      handlers.handle(unreadable) { _, _ in Issue.record("it cannot be read") }
      try await test.working(handlers) { (_: JobWorker) async throws -> Void in
        try await test.queue.enqueue([kind.job([]), unreadable.job(7)])
        try await eventually { try await test.count("work.dead_job") == 2 }
        let dead = try await test.queue.list(JobFilter(state: .dead), atMost: 10)
        #expect(dead.allSatisfy { $0.reason == "permanent" && $0.attempt == 1 })
        #expect(dead.map(\.lastError).contains("no such person"))
      }
      #expect(
        Set(test.samples("parley_job_runs_total")) == [
          #"parley_job_runs_total{kind="test.bytes",outcome="died"} 1"#,
          #"parley_job_runs_total{kind="test.number",outcome="died"} 1"#,
        ])
    }
  }

  @Test("JOB-S3: a finished step is not done again by a later attempt, and its result is kept")
  func steps() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let calls = Mutex<[String]>([])
      let done = Signal()
      var handlers = JobHandlers()
      handlers.handle(kind) { _, run in
        let token = try await run.step("fetch") { () -> [UInt8] in
          calls.withLock { $0.append("fetch") }
          return [1, 2, 3]
        }
        #expect(token == [1, 2, 3])
        let name = try await run.step("name") { () -> String in
          calls.withLock { $0.append("name \(run.attempt)") }
          if run.attempt < 2 { throw Trouble() }
          return "Ana"
        }
        #expect(name == "Ana")
        try await test.database.transaction { try await run.checkpoint("stored", [9], in: $0) }
        #expect(try await run.result(of: "stored") == [9])
        try await run.report(2, of: 3, "nearly there")
        if run.attempt < 3 { throw Trouble() }
        try await run.step("stored") { () -> Void in Issue.record("it has been stored") }
        done.fire()
      }
      try await test.working(handlers) { (worker: JobWorker) async throws -> Void in
        let id = try await test.queue.enqueue([kind.job([])])[0].id
        for attempt in 1...2 {
          try await eventually { try await test.queue.job(id)?.lastError != "" }
          try await eventually {
            let job = try await test.queue.job(id)
            return job?.attempt == attempt && job?.holder == ""
          }
          if attempt == 2 {
            let job = try #require(try await test.queue.job(id))
            #expect(job.steps == 3 && job.progress == (2, 3, "nearly there"))
            #expect(Set(try await test.queue.finishedSteps(of: id).map(\.name)) == ["fetch", "name", "stored"])
          }
          test.clock.advance(by: .seconds(60))
          worker.wake()
        }
        try await done.wait(atMost: .seconds(30))
        try await eventually { try await test.count("work.job") == 0 }
        #expect(try await test.count("work.job_step") == 0)
      }
      #expect(calls.withLock { $0 } == ["fetch", "name 1", "name 2"])
    }
  }

  @Test("The end of a job and what its handler writes are one transaction")
  func finishInTransaction() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let attempts = Mutex(0)
      var handlers = JobHandlers()
      handlers.handle(kind) { _, run in
        let attempt = attempts.withLock {
          $0 += 1; return $0
        }
        try await test.database.transaction { transaction in
          try await transaction.execute(
            "insert into work.job_queue (name, paused_at, paused_by) values (\("effect \(attempt)"), \(test.clock.now), '')")
          try await run.finish(in: transaction)
          if attempt == 1 { throw Trouble() }
        }
      }
      try await test.working(handlers, chance: 0) { (_: JobWorker) async throws -> Void in
        try await test.queue.enqueue([kind.job([])])
        // The pause is nothing at all, by chance.
        try await eventually { try await test.count("work.job") == 0 }
        let effects: [String] = try await test.database.rows("select name from work.job_queue")
        #expect(effects == ["effect 2"])
      }
      #expect(
        Set(test.samples("parley_job_runs_total")) == [
          #"parley_job_runs_total{kind="test.bytes",outcome="done"} 1"#,
          #"parley_job_runs_total{kind="test.bytes",outcome="failed"} 1"#,
        ])
    }
  }

  @Test("JOB-M7: a worker that stops lets short jobs end, gives long ones back without an attempt, and takes nothing new")
  func drain() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let begun = Signal()
      let isCancelled = Signal()
      let short = JobKind<[UInt8]>("test.short")
      let stopping = Signal()
      var handlers = JobHandlers()
      handlers.handle(kind) { _, _ in
        begun.fire()
        do { try await test.test.group.loops[0].sleep(for: .seconds(600)) } catch {
          isCancelled.fire()
          throw error
        }
      }
      handlers.handle(short) { _, _ in
        begun.fire()
        try await stopping.wait(atMost: .seconds(30))
      }
      var settings = WorkerSettings.quick
      settings.grace = .seconds(1)
      let worker = test.worker(handlers, settings)
      let task = Task { try await worker.run() }
      let ids = try await test.queue.enqueue([kind.job([]), short.job([])]).map(\.id)
      try await begun.wait(atMost: .seconds(30))
      try await begun.wait(atMost: .seconds(30))
      task.cancel()
      stopping.fire()
      try await isCancelled.wait(atMost: .seconds(30))
      _ = await task.result
      let job = try #require(try await test.queue.job(ids[0]))
      #expect(job.state == .ready && job.attempt == 0 && job.holder == "" && job.lastError == "")
      #expect(try await test.queue.job(ids[1]) == nil)
      #expect(
        Set(test.samples("parley_job_runs_total")) == [
          #"parley_job_runs_total{kind="test.bytes",outcome="given_back"} 1"#,
          #"parley_job_runs_total{kind="test.short",outcome="done"} 1"#,
        ])
    }
  }

  @Test("JOB-M7: a hundred rolling restarts in the midst of work leave no job behind and spend no attempt")
  func rollingRestarts() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let isPatient = Mutex(true)
      let begun = Mutex(0)
      let done = Mutex<[UUID: Int]>([:])
      var handlers = JobHandlers()
      handlers.handle(kind) { _, run in
        begun.withLock { $0 += 1 }
        if isPatient.withLock({ $0 }) { try await test.test.group.loops[0].sleep(for: .seconds(600)) }
        #expect(run.attempt == 1)
        done.withLock { $0[run.id, default: 0] += 1 }
      }
      var settings = WorkerSettings.quick
      settings.grace = .zero
      let ids = try await test.queue.enqueue((0..<40).map { try kind.job([UInt8($0)]) }).map(\.id)
      for _ in 0..<100 {
        let before = begun.withLock { $0 }
        try await test.working(handlers, settings) { (_: JobWorker) async throws -> Void in
          try await eventually { begun.withLock { $0 } > before }
        }
        #expect(try await test.count("work.job where holder is not null or attempt > 0") == 0)
      }
      isPatient.withLock { $0 = false }
      try await test.working(handlers, settings) { (_: JobWorker) async throws -> Void in
        try await eventually { try await test.count("work.job") == 0 }
      }
      #expect(done.withLock { $0 } == Dictionary(uniqueKeysWithValues: ids.map { ($0, 1) }))
      #expect(try await test.count("work.dead_job") == 0)
    }
  }

  @Test("JOB-M3: a run that lost its lease is cancelled, and its end counts for nothing")
  func lostLease() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let begun = Signal()
      let ended = Signal()
      let runs = Mutex(0)
      var handlers = JobHandlers()
      handlers.handle(kind) { _, run in
        guard
          runs.withLock({
            $0 += 1; return $0
          }) == 1
        else { return }
        begun.fire()
        // Deaf to cancellation, as a stopped process is.
        while !Task.isCancelled { try? await test.test.group.loops[0].sleep(for: .milliseconds(5)) }
        #expect(run.hasLostLease)
        ended.fire()
      }
      var settings = WorkerSettings.quick
      settings.lease = .seconds(5)
      try await test.working(handlers, settings) { (worker: JobWorker) async throws -> Void in
        let id = try await test.queue.enqueue([kind.job([])])[0].id
        try await begun.wait(atMost: .seconds(30))
        // As if this process had stood still for a minute.
        test.clock.advance(by: .seconds(60))
        worker.wake()
        try await ended.wait(atMost: .seconds(30))
        try await eventually { try await test.queue.job(id) == nil }
      }
      #expect(runs.withLock { $0 } == 2)
      #expect(test.samples("parley_job_runs_total").contains(#"parley_job_runs_total{kind="test.bytes",outcome="lost"} 1"#))
      #expect(test.samples("parley_job_runs_total").contains(#"parley_job_runs_total{kind="test.bytes",outcome="done"} 1"#))
    }
  }

  @Test("JOB-M4: a job at its last attempt whose worker died is dead as crashed, and its handler is not called again")
  func crashed() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let once = JobKind<[UInt8]>("test.once", retry: .never)
      let id = try await test.queue.enqueue([once.job([])])[0].id
      // What a worker leaves behind that is killed.
      try await test.database.execute(
        """
        update work.job set attempt = 1, run_lease = 1, holder = 'dead', started_at = \(test.clock.now),
          due_at = \(test.clock.now.advanced(by: .seconds(20)))
        """)
      var handlers = JobHandlers()
      handlers.handle(once) { _, _ in Issue.record("it had one attempt") }
      try await test.working(handlers) { (worker: JobWorker) async throws -> Void in
        test.clock.advance(by: .seconds(20))
        worker.wake()
        try await eventually { try await test.queue.job(id)?.state == .dead }
        #expect(try await test.queue.job(id)?.reason == "crashed")
      }
    }
  }

  @Test("A run that takes longer than its kind allows is cancelled and tried again")
  func timeout() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let slow = JobKind<[UInt8]>("test.slow", retry: RetryPolicy(attempts: 1), timeout: .milliseconds(50))
      var handlers = JobHandlers()
      handlers.handle(slow) { _, _ in try await test.test.group.loops[0].sleep(for: .seconds(600)) }
      try await test.working(handlers) { (_: JobWorker) async throws -> Void in
        let id = try await test.queue.enqueue([slow.job([])])[0].id
        try await eventually { try await test.queue.job(id)?.state == .dead }
        #expect(try await test.queue.job(id)?.reason == "timed_out")
      }
    }
  }

  @Test("No more jobs of a queue run at once than it may have, and no more in all than the worker may")
  func concurrency() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let other = JobKind<[UInt8]>("test.other", queue: "other")
      let going = Mutex<[String: Int]>([:])
      let most = Mutex<[String: Int]>([:])
      let ran = Mutex(0)
      var handlers = JobHandlers()
      let work: @Sendable ([UInt8], JobRun) async throws -> Void = { _, run in
        let now = going.withLock { going in
          going[run.kind, default: 0] += 1
          going["all", default: 0] += 1
          return going
        }
        most.withLock { most in for (name, count) in now { most[name] = max(most[name] ?? 0, count) } }
        for _ in 0..<50 { await Task.yield() }
        going.withLock { going in
          going[run.kind, default: 0] -= 1
          going["all", default: 0] -= 1
        }
        ran.withLock { $0 += 1 }
      }
      handlers.handle(kind, work)
      handlers.handle(other, work)
      var settings = WorkerSettings.quick
      settings.queues = [.init("default", concurrency: 3), .init("other", concurrency: 5)]
      settings.concurrency = 6
      try await test.working(handlers, settings) { (_: JobWorker) async throws -> Void in
        try await test.queue.enqueue((0..<60).map { _ in try kind.job([]) } + (0..<60).map { _ in try other.job([]) })
        try await eventually { ran.withLock { $0 } == 120 }
      }
      let seen = most.withLock { $0 }
      #expect(seen["test.bytes"] ?? 9 <= 3 && seen["test.other"] ?? 9 <= 5 && seen["all"] ?? 9 <= 6)
    }
  }
}
