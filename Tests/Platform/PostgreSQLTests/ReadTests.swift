import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("Reads on the shared connection")
struct ReadTests {
  @Test("A row is read as a tuple of its columns")
  func tuple() async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        let rows: [(Int, String)] = try await database.reads.rows("select \(41) + 1, \("a") || \("b")")
        #expect(rows.count == 1 && rows[0] == (42, "ab"))
        let none: (Int, String)? = try await database.reads.row("select 1, 'x' where false")
        #expect(none == nil)
        let count: Int? = try await database.reads.row("select count(*) from pg_class where false")
        #expect(count == 0)
      }
    }
  }
}
