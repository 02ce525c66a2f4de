import EventLoop
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Values

@testable import Jobs

@Suite("Schedules")
struct ScheduleTests {
  private let kind = JobKind<[UInt8]>("test.bytes")

  private func schedule(
    _ pattern: String, in zone: String = "Europe/Berlin", gap: JobSchedule.Gap = .after, overlap: JobSchedule.Overlap = .first,
    catchUp: Duration = .seconds(3_600)
  ) -> JobSchedule {
    JobSchedule("test.schedule", pattern, in: zone, gap: gap, overlap: overlap, catchUp: catchUp) { [kind] at in
      try kind.job(Array("\(at)".utf8))
    }
  }

  /// The occurrences that a schedule has between two moments, by asking when it says that there is one.
  private func occurrences(_ schedule: JobSchedule, _ test: TestQueue, until end: Instant) async throws -> [String] {
    while let next = try await test.queue.enqueueDue(schedule), next <= end {
      test.clock.advance(by: next.duration(since: test.clock.now))
    }
    let texts: [String] = try await test.database.rows("select convert_from(payload, 'UTF8') from work.job order by id")
    return texts
  }

  @Test(
    "JOB-S4: a time that clocks skip comes after the gap or not at all, one that they repeat once or twice",
    arguments: [
      // Berlin, 2027-03-28: 02:00 becomes 03:00 at 01:00 UTC.
      (
        "30 2 * * *", JobSchedule.Gap.after, JobSchedule.Overlap.first, 1_806_105_600,
        [1_806_111_000, 1_806_195_600, 1_806_280_200]
      ),
      ("30 2 * * *", .skip, .first, 1_806_105_600, [1_806_111_000, 1_806_280_200]),
      // 2027-10-31: 03:00 becomes 02:00 at 01:00 UTC.
      ("30 2 * * *", .after, .first, 1_824_854_400, [1_824_856_200, 1_824_942_600, 1_825_032_600]),
      ("30 2 * * *", .after, .second, 1_824_854_400, [1_824_856_200, 1_824_946_200, 1_825_032_600]),
      ("30 2 * * *", .after, .both, 1_824_854_400, [1_824_856_200, 1_824_942_600, 1_824_946_200, 1_825_032_600]),
    ])
  func clockChanges(
    pattern: String, gap: JobSchedule.Gap, overlap: JobSchedule.Overlap, from: Int64, expected: [Int64]
  ) async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      test.clock.advance(by: Instant(seconds: from).duration(since: test.clock.now))
      let found = try await occurrences(
        schedule(pattern, gap: gap, overlap: overlap), test, until: Instant(seconds: expected.last ?? 0))
      #expect(found == expected.map { "\(Instant(seconds: $0))" })
    }
  }

  @Test("JOB-S4: what was missed within the window is made up for once, by its latest; what is older is given up")
  func catchUp() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      // It is 08:00 UTC.
      let hourly = schedule("0 * * * *", in: "UTC", catchUp: .seconds(1_800))
      let start = test.clock.now
      #expect(try await test.queue.enqueueDue(hourly) == start.advanced(by: .seconds(3_600)))
      #expect(try await test.count("work.job") == 0)
      test.clock.advance(by: .seconds(5 * 3_600 + 1_800))
      #expect(try await test.queue.enqueueDue(hourly) == start.advanced(by: .seconds(6 * 3_600)))
      let payload: [String] = try await test.database.rows("select convert_from(payload, 'UTF8') from work.job")
      #expect(payload == ["\(start.advanced(by: .seconds(5 * 3_600)))"])
      test.clock.advance(by: .seconds(3 * 3_600) + .microseconds(1))
      #expect(try await test.queue.enqueueDue(hourly) == start.advanced(by: .seconds(9 * 3_600)))
      #expect(try await test.count("work.job") == 1)
    }
  }

  @Test("JOB-S4: of eight copies that find an occurrence due one enqueues it")
  func once() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let minutely = schedule("* * * * *")
      _ = try await test.queue.enqueueDue(minutely)
      for round in 1...5 {
        test.clock.advance(by: .seconds(60))
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<8 { group.addTask { _ = try await test.queue.enqueueDue(minutely) } }
          try await group.waitForAll()
        }
        #expect(try await test.count("work.job") == round)
      }
    }
  }

  @Test("JOB-S4: a worker keeps the schedules of its handlers, and a zone that is none hinders nobody else")
  func worker() async throws {
    try await TestQueue.with { (test: TestQueue) async throws -> Void in
      let ran = Signal()
      var handlers = JobHandlers()
      handlers.handle(kind) { _, _ in ran.fire() }
      handlers.schedule(JobSchedule("nowhere", "* * * * *", in: "Europe/Nowhere") { [kind] _ in try kind.job([]) })
      handlers.schedule(schedule("* * * * *"))
      try await test.working(JobHandlers(joining: [handlers])) { (_: JobWorker) async throws -> Void in
        try await eventually { try await test.count("work.job_schedule") == 1 }
        test.clock.advance(by: .seconds(60))
        try await ran.wait(atMost: .seconds(30))
        try await eventually { try await test.count("work.job") == 0 }
      }
    }
  }
}
