import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("Reads in one round trip")
struct ReadBatchTests {
  @Test("Reads of a batch travel in one round trip, and each has its answer (PF-11)")
  func batch() async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        let before = database.statistics
        let found = try await database.reads.batch {
          $0.add("select \(1) + 1")
          $0.add("select 'a', 2 union all select 'b', 3")
          $0.add("select 1 where false")
        }
        #expect(database.statistics.roundTrips - before.roundTrips == 1 && database.statistics.queries - before.queries == 3)
        #expect(try found.value(of: 0) == 2)
        let rows: [(String, Int)] = try found.rows(of: 1)
        #expect(rows.map(\.0) == ["a", "b"] && rows.map(\.1) == [2, 3])
        #expect(try found.value(of: 2, as: Int.self) == nil)
        #expect(try await database.reads.batch { _ in }.results.isEmpty)
      }
    }
  }

  @Test("The first error of a batch of reads is thrown; a slow one among them has its answer from the pool")
  func errors() async throws {
    try await TestDatabase.with { test in
      try await test.open({ $0.readTimeout = .milliseconds(300) }) { database in
        let error = await databaseError {
          _ = try await database.reads.batch {
            $0.add("select 1")
            $0.add("select 1 / \(0)")
            $0.add("select 3")
          }
        }
        #expect(error?.sqlState?.rawValue == "22012")
        let found = try await database.reads.batch {
          $0.add("select 1")
          $0.add("select 2 from pg_sleep(1)")
          $0.add("select 3")
        }
        #expect(try (0..<3).map { try found.value(of: $0, as: Int.self) } == [1, 2, 3])
        #expect(database.statistics.slowReads == 1)
        let late = await databaseError {
          _ = try await database.reads.batch(deadline: soon(.milliseconds(30))) {
            $0.add("select 1")
            $0.add("select 2 from pg_sleep(0.2)")
          }
        }
        #expect(late?.code == .deadlineExceeded)
        #expect(try await database.reads.value("select 4") == 4)
      }
    }
  }
}
