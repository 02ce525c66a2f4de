import EventLoop
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Values

@testable import Jobs

@Suite("Leases")
struct LeaseTests {
  private let kind = JobKind<[UInt8]>("test.bytes", retry: RetryPolicy(attempts: 2))
  private let lease = Duration.seconds(20)

  private func claim(_ test: TestQueue, _ most: Int = 10, as worker: String = "one") async throws -> [ClaimedJob] {
    try await test.queue.claim(most, from: "default", kinds: ["test.bytes"], as: worker, for: lease)
  }

  private func run(_ claimed: ClaimedJob, _ test: TestQueue) -> JobRun {
    JobRun(claimed, of: test.queue, leaseEnd: .now().advanced(by: lease))
  }

  @Test("JOB-M4: the job of a worker that died is claimed again when its lease is over, and not a moment before")
  func expiry() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let id = try await test.queue.enqueue([kind.job([5])])[0].id
      let first = try #require(try await claim(test).first)
      #expect(first.id == id && first.attempt == 1 && first.lease == 1 && first.payload == [5])
      test.clock.advance(by: lease - .microseconds(1))
      #expect(try await claim(test, as: "two").isEmpty)
      #expect(try await test.queue.job(id)?.state == .running)
      test.clock.advance(by: .microseconds(1))
      #expect(try await test.queue.job(id)?.state == .ready)
      let second = try #require(try await claim(test, as: "two").first)
      #expect(second.id == id && second.attempt == 2 && second.lease == 2)
      #expect(try await test.queue.job(id)?.holder == "two")
    }
  }

  @Test(
    "JOB-M3: a run past its lease ends, keeps, reports and prolongs nothing, whether or not another has the job",
    arguments: [false, true])
  func fencing(isClaimedAgain: Bool) async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let id = try await test.queue.enqueue([kind.job([])])[0].id
      let stale = run(try #require(try await claim(test).first), test)
      test.clock.advance(by: lease)
      if isClaimedAgain { #expect(try await claim(test, as: "two").count == 1) }
      let queue = test.queue
      let deadline = MonotonicInstant.now().advanced(by: .seconds(30))
      #expect(try await queue.heartbeat([stale], for: lease, deadline: deadline) == [stale.runID])
      #expect(try await queue.finish([stale.runID]) == [stale.runID])
      #expect(try await queue.fail(stale, again: .zero, reason: "", error: "late") == .lost)
      #expect(try await queue.fail(stale, again: nil, reason: "permanent", error: "late") == .lost)
      #expect(try await queue.giveBack([stale], deadline: deadline) == 0)
      for attempt in 0..<5 {
        let error = await #expect(throws: JobError.self) {
          switch attempt {
          case 0: _ = try await stale.step("effect") { [1] }
          case 1: try await stale.report(1, of: 2)
          case 2: try await test.database.transaction { try await stale.fence(in: $0) }
          case 3: try await stale.commit(finishing: "late") { $0.add("update work.job set last_error = 'late'") }
          default: try await test.database.transaction { try await stale.finish(in: $0) }
          }
        }
        #expect(error?.code == .leaseLost)
      }
      #expect(try await test.count("work.job_step") == 0)
      #expect(try await test.count("work.dead_job") == 0)
      let job = try #require(try await queue.job(id))
      #expect(job.state == (isClaimedAgain ? .running : .ready))
      #expect(job.attempt == (isClaimedAgain ? 2 : 1) && job.progress.total == 0 && job.lastError == "")
    }
  }

  @Test("JOB-M3: a fenced transaction keeps others from the job until it ends, even when the lease runs out meanwhile")
  func fencedTransaction() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      try await test.queue.enqueue([kind.job([])])
      let held = run(try #require(try await claim(test).first), test)
      try await test.database.transaction { transaction in
        try await held.fence(in: transaction)
        test.clock.advance(by: lease)
        #expect(try await claim(test, as: "two").isEmpty)
      }
      #expect(try await claim(test, as: "two").count == 1)
    }
  }

  @Test("What a run commits at once is there with the step that it finishes, in one round trip (PF-11)")
  func committed() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      try await test.queue.enqueue([kind.job([])])
      let held = run(try #require(try await claim(test).first), test)
      let before = test.database.statistics.roundTrips
      let answers = try await held.commit(finishing: "words") { batch in
        batch.add("update work.job set last_error = 'told'")
        batch.add("select last_error from work.job")
      }
      #expect(test.database.statistics.roundTrips - before == 1)
      #expect(answers.results.count == 2 && answers.affectedRows[0] == 1)
      #expect(try answers.value(of: 1, as: String.self) == "told")
      #expect(try await held.result(of: "words") == [])
      #expect(try await test.count("work.job_step") == 1)
    }
  }

  @Test("What a run commits at once may end its job, is told to operators, and goes behind the locks of others (PF-11)")
  func committedLast() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      try await test.queue.enqueue([kind.job([])])
      let held = run(try #require(try await claim(test).first), test)
      let answers = try await held.commit(behind: ["select 'first'"], reporting: .init(2, of: 3, "told")) {
        $0.add("select progress_done, progress_total, progress_note from work.job")
      }
      let told: (Int64, Int64, String)? = try answers.row(of: 0)
      #expect(answers.results.count == 1 && told?.0 == 2 && told?.1 == 3 && told?.2 == "told")
      #expect(!held.hasEnded)
      let last = try await held.commit(finishing: "end", ending: true) { $0.add("select 'last'") }
      #expect(try last.results.count == 1 && last.value(of: 0, as: String.self) == "last")
      #expect(held.hasEnded && held.mayBeFinished)
      #expect(try await test.count("work.job") == 0)
      let progress = JobRun.Progress(1, of: 1)
      for reported in [progress, nil] {
        let error = await #expect(throws: JobError.self) { _ = try await held.commit(reporting: reported) { $0.add("select 1") } }
        #expect(error?.code == .leaseLost)
      }
    }
  }

  @Test("A heartbeat prolongs the leases that are held, and names those that are lost")
  func heartbeats() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      try await test.queue.enqueue([kind.job([1]), kind.job([2])])
      let runs = try await claim(test).map { run($0, test) }
      #expect(runs.count == 2)
      test.clock.advance(by: .seconds(15))
      let deadline = MonotonicInstant.now().advanced(by: .seconds(30))
      #expect(try await test.queue.finish([runs[0].runID]).isEmpty)
      #expect(try await test.queue.heartbeat(runs, for: lease, deadline: deadline) == [runs[0].runID])
      test.clock.advance(by: .seconds(15))
      #expect(try await claim(test, as: "two").isEmpty)
      #expect(try await test.queue.finish([runs[1].runID]).isEmpty)
      #expect(try await test.count("work.job") == 0)
    }
  }

  @Test("Of eight workers that claim at once each job goes to one")
  func contention() async throws {
    try await TestQueue.with(loops: 2) { test in
      try await test.queue.enqueue((0..<300).map { try kind.job([UInt8($0 % 256)]) })
      let ids = try await withThrowingTaskGroup(of: [UUID].self) { group in
        for number in 0..<8 {
          group.addTask {
            var ids: [UUID] = []
            // One that finds all rows locked by others at this moment finds none; they are claimed all the same.
            while try await test.count("work.job where holder is null") > 0 {
              ids += try await claim(test, 7, as: "worker \(number)").map(\.id)
            }
            return ids
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(ids.count == 300 && Set(ids).count == 300)
    }
  }

  @Test("The first priority goes first, then who has been due the longest; what is not due yet or of an unknown kind stays")
  func order() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let now = test.clock.now
      let other = JobKind<[UInt8]>("test.unknown")
      try await test.queue.enqueue([
        kind.job([1], priority: .background), kind.job([2], priority: .low),
        kind.job([3], notBefore: now.advanced(by: .seconds(60))),
        kind.job([4]), kind.job([5], notBefore: now.advanced(by: .seconds(-60))), kind.job([6], priority: .urgent),
        other.job([7], priority: .urgent),
      ])
      var order: [UInt8] = []
      while let job = try await claim(test, 1).first { order += job.payload }
      #expect(order == [6, 5, 4, 2, 1])
      test.clock.advance(by: .seconds(60) - .microseconds(1))
      // The leases are over as well.
      #expect(try await claim(test).map(\.payload).contains([3]) == false)
      test.clock.advance(by: .microseconds(1))
      #expect(try await claim(test).map(\.payload) == [[3]])
    }
  }

  @Test("JOB-S5: what has waited for ten minutes gets a quarter of each claim, whatever goes first goes on coming")
  func ageing() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      try await test.take("test.bytes")
      try await test.queue.enqueue([kind.job([3], priority: .background), kind.job([2], priority: .low)])
      func urgent(_ count: Int) async throws {
        try await test.queue.enqueue((0..<count).map { _ in try kind.job([0], priority: .urgent) })
      }
      try await urgent(4)
      test.clock.advance(by: .seconds(600) - .microseconds(1))
      try await urgent(100)
      #expect(try await claim(test, 4).map(\.payload) == [[0], [0], [0], [0]])
      test.clock.advance(by: .microseconds(1))
      let mixed = try await claim(test, 8).map(\.payload)
      #expect(mixed.count == 8 && mixed.count { $0 == [0] } == 6 && Set(mixed) == [[0], [2], [3]], "\(mixed)")
      // One at a time, too; and what goes first still gets most of it.
      let old = [JobPriority.normal, .low, .background]
      try await test.queue.enqueue(
        try old.map { try kind.job([UInt8($0.rawValue)], notBefore: test.clock.now.advanced(by: .seconds(-601)), priority: $0) })
      var order: [UInt8] = []
      for _ in 0..<16 {
        test.clock.advance(by: .microseconds(1))
        order += try await claim(test, 1).flatMap(\.payload)
      }
      #expect(order.count == 16 && order.count { $0 == 0 } == 13 && Set(order) == [0, 1, 2, 3], "\(order)")
    }
  }

  @Test("A paused queue hands out nothing, others do, and a run in it may end")
  func pause() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let other = JobKind<[UInt8]>("test.bytes", queue: "other")
      try await test.queue.enqueue([kind.job([1]), kind.job([2]), other.job([3])])
      let held = run(try #require(try await claim(test, 1).first), test)
      #expect(try await test.queue.pause("default", by: "ana"))
      #expect(try await test.queue.pause("default", by: "ben") == false)
      #expect(try await claim(test).isEmpty)
      #expect(try await test.queue.claim(1, from: "other", kinds: ["test.bytes"], as: "one", for: lease).count == 1)
      #expect(try await test.queue.finish([held.runID]).isEmpty)
      let statistics = try await test.queue.statistics()
      #expect(statistics.map(\.name) == ["default", "other"])
      #expect(statistics.map(\.isPaused) == [true, false])
      #expect(statistics.map(\.ready) == [1, 0] && statistics.map(\.running) == [0, 1])
      #expect(statistics[0].oldestDueAt == test.clock.now)
      #expect(try await test.queue.resume("default"))
      #expect(try await test.queue.resume("default") == false)
      #expect(try await claim(test).count == 1)
    }
  }

  @Test("JOB-M7: what is given back is ready at once and has spent no attempt")
  func givenBack() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      try await test.queue.enqueue([kind.job([1])])
      for _ in 0..<5 {
        let held = run(try #require(try await claim(test).first), test)
        #expect(held.attempt == 1)
        #expect(try await test.queue.giveBack([held], deadline: .now().advanced(by: .seconds(30))) == 1)
      }
    }
  }
}
