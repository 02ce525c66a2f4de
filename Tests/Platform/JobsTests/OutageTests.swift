import EventLoop
import Jobs
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("Workers without their database")
struct OutageTests {
  private let kind = JobKind<[UInt8]>("test.bytes", retry: RetryPolicy(attempts: 3, firstPause: .seconds(4)))

  @Test(
    "A job whose database fails more often than it has attempts waits, keeps the error, and has all of them afterwards (OF-06)")
  func attempts() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let ran = Mutex(0)
      var handlers = JobHandlers()
      handlers.handle(kind) { _, run in
        #expect(run.attempt == 1)
        let turn = ran.withLock { count in
          count += 1
          return count
        }
        switch turn {
        case 1...4: throw DatabaseError(.deadlineExceeded, "too slow")
        case 5...8: throw JobFailure.unavailable("the store is away")
        default: break
        }
      }
      try await test.working(handlers) { (worker: JobWorker) async throws -> Void in
        let id = try await test.queue.enqueue([kind.job([1])])[0].id
        for turn in 1...8 {
          try await eventually {
            let job = try await test.queue.job(id)
            return ran.withLock { $0 } == turn && job?.state == .scheduled && job?.attempt == 0
          }
          let error = try await test.queue.job(id)?.lastError
          #expect(error == (turn <= 4 ? "deadline_exceeded: too slow" : "the store is away"))
          test.clock.advance(by: .seconds(30))
          worker.wake()
        }
        try await eventually { try await test.count("work.job") == 0 }
      }
      #expect(ran.withLock { $0 } == 9)
      #expect(try await test.count("work.dead_job") == 0)
    }
  }

  @Test("JOB-M8: a worker whose connections break again and again does what was enqueued, each job once and none not at all")
  func outage() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      try await test.test.script(
        """
        create table public.ordered (number integer primary key);
        create table public.done (number integer not null);
        grant select, insert on public.ordered, public.done to parley_work;
        """)
      var handlers = JobHandlers()
      handlers.handle(kind) { payload, run in
        try await test.database.transaction { transaction in
          try await run.fence(in: transaction)
          try await transaction.execute("insert into public.done (number) values (\(Int32(payload[0])))")
          try await run.finish(in: transaction)
        }
      }
      try await test.working(handlers) { (worker: JobWorker) async throws -> Void in
        for number in UInt8(1)...40 {
          if number % 8 == 0 {
            try await test.test.script(
              "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            )
          }
          // The order and its job are one transaction; one whose answer was lost is not made again.
          try await eventually {
            do {
              try await test.database.transaction { transaction in
                let isNew =
                  try await transaction.execute(
                    "insert into public.ordered (number) values (\(Int32(number))) on conflict do nothing") == 1
                if isNew { try await test.queue.enqueue([kind.job([number])], in: transaction) }
              }
              return true
            } catch is DatabaseError { return false }
          }
        }
        try await eventually {
          // What waits for its database to be back waits by this clock, by which what runs would lose its lease.
          let running: Int64? = try? await test.database.value("select count(*) from work.job where holder is not null")
          if running == 0 {
            test.clock.advance(by: .seconds(30))
            worker.wake()
          }
          return (try? await test.count("work.job")) == 0
        }
      }
      #expect(try await test.count("public.ordered") == 40)
      let wrong: Int64? = try await test.database.value(
        """
        select count(*) from public.ordered as ordered
        where (select count(*) from public.done where done.number = ordered.number) <> 1
        """)
      #expect(wrong == 0)
      #expect(try await test.count("public.done") == 40)
    }
  }
}
