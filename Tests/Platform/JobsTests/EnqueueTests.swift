import EventLoop
import Jobs
import PostgreSQL
import TestSupport
import Testing

@Suite("Enqueueing")
struct EnqueueTests {
  private struct Refusal: Error {}
  private let kind = JobKind<[UInt8]>("test.bytes")

  @Test("JOB-M1: a rolled-back transaction leaves no job, a committed one leaves it with what the transaction wrote")
  func transactions() async throws {
    try await TestQueue.with { test in
      let job = try kind.job([1, 2, 3])
      try await test.take("test.bytes")
      await #expect(throws: Refusal.self) {
        try await test.database.transaction { transaction in
          let enqueued = try await test.queue.enqueue([job], in: transaction)
          #expect(enqueued.first?.isNew == true)
          throw Refusal()
        }
      }
      #expect(try await test.count("work.job") == 0)
      let enqueued = try await test.database.transaction { try await test.queue.enqueue([job], in: $0) }
      let stored = try await test.queue.job(enqueued[0].id)
      #expect(stored?.state == .ready)
      #expect(stored?.kind == "test.bytes")
      #expect(stored?.payloadLength == 3)
      #expect(try await test.count("work.job where payload = '\\x010203'") == 1)
    }
  }

  @Test("Jobs that are added to a transaction travel with its end, and exist if it is committed (PF-11)")
  func added() async throws {
    try await TestQueue.with { test in
      let job = try kind.job([1], uniqueKey: "ana")
      await #expect(throws: Refusal.self) {
        try await test.database.transaction { transaction in
          try test.queue.add([job], to: transaction)
          throw Refusal()
        }
      }
      #expect(try await test.count("work.job") == 0)
      for _ in 0..<2 {
        let before = test.database.statistics.roundTrips
        try await test.database.transaction { try test.queue.add([job], to: $0) }
        #expect(test.database.statistics.roundTrips - before == 1)
        #expect(try await test.count("work.job where unique_key = 'ana'") == 1)
      }
      let large = try kind.job([UInt8](repeating: 0, count: NewJob.longestPayload + 1))
      let error = await #expect(throws: JobError.self) {
        try await test.database.transaction { try test.queue.add([large], to: $0) }
      }
      #expect(error?.code == .invalidJob)
    }
  }

  @Test("JOB-M2: of 200 concurrent enqueues of one key one is new, and all are told the same job")
  func uniqueKeys() async throws {
    try await TestQueue.with(loops: 2) { test in
      let all = try await withThrowingTaskGroup(of: EnqueuedJob.self) { group in
        for number in 0..<200 {
          group.addTask {
            let job = try kind.job([UInt8(number)], uniqueKey: "ana")
            return try await test.database.transaction { try await test.queue.enqueue([job], in: $0)[0] }
          }
        }
        var all: [EnqueuedJob] = []
        for try await one in group { all.append(one) }
        return all
      }
      #expect(all.count == 200)
      #expect(all.count(where: \.isNew) == 1)
      #expect(Set(all.map(\.id)).count == 1)
      #expect(try await test.count("work.job") == 1)
    }
  }

  @Test("JOB-M2: within one batch a key is new once; another kind, no key and the key of a finished job are new")
  func keysInABatch() async throws {
    try await TestQueue.with { test in
      let other = JobKind<[UInt8]>("test.other")
      let jobs = [
        try kind.job([], uniqueKey: "a"), try kind.job([], uniqueKey: "a"), try kind.job([], uniqueKey: "b"),
        try other.job([], uniqueKey: "a"), try kind.job([]), try kind.job([]), try kind.job([], uniqueKey: ""),
      ]
      let first = try await test.queue.enqueue(jobs)
      #expect(first.map(\.isNew) == [true, false, true, true, true, true, true])
      #expect(first[0].id == first[1].id)
      #expect(Set(first.map(\.id)).count == 6)
      #expect(try await test.queue.enqueue([jobs[2], jobs[3]]).map(\.id) == [first[2].id, first[3].id])
      #expect(try await test.queue.purgeWaiting([first[2].id]) == 1)
      #expect(try await test.queue.enqueue([jobs[2]])[0].isNew)
    }
  }

  @Test("A payload of 1 MiB is taken, one byte more is not; the same for a key of 512 bytes")
  func limits() async throws {
    try await TestQueue.with { test in
      let largest = [UInt8](repeating: 7, count: NewJob.longestPayload)
      try await test.queue.enqueue([try kind.job(largest, uniqueKey: String(repeating: "k", count: 512))])
      #expect(try await test.count("work.job where payload = decode(repeat('07', 1048576), 'hex')") == 1)
      for job in [
        try kind.job(largest + [0]), try kind.job([], uniqueKey: String(repeating: "k", count: 513)),
        try kind.job([], uniqueKey: "a\0b"),
      ] {
        let error = await #expect(throws: JobError.self) { try await test.queue.enqueue([job]) }
        #expect(error?.code == .invalidJob)
      }
      #expect(try await test.count("work.job") == 1)
      #expect(try await test.queue.enqueue([]).isEmpty)
    }
  }
}
