import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("The statement meter")
struct StatementMeterTests {
  /// What a task's own meter counts of `body`.
  private static func counted(_ body: () async throws -> Void) async throws -> StatementMeter {
    let meter = StatementMeter()
    try await StatementMeter.$current.withValue(meter) { try await body() }
    return meter
  }

  private static func cost(_ statements: Int, _ roundTrips: Int, _ flushes: Int) -> StatementMeter.Cost {
    var cost = StatementMeter.Cost()
    (cost.statements, cost.roundTrips, cost.flushes) = (statements, roundTrips, flushes)
    return cost
  }

  private static func withDatabase(_ body: (Database, StatementMeter) async throws -> Void) async throws {
    let all = StatementMeter()
    try await TestDatabase.with { test in
      try await test.script("create table item (id bigint primary key)")
      try await test.open({ $0.meter = all }) { try await body($0, all) }
    }
  }

  @Test("Two reads of a batch that differ by a digit alone are two: both are counted, sent and answered")
  func twins() async throws {
    try await Self.withDatabase { database, _ in
      for _ in 0..<3 {
        let before = database.statistics
        var answers: [Int?] = []
        let meter = try await Self.counted {
          let found = try await database.reads.batch {
            $0.add("select 1")
            $0.add("select 2")
          }
          answers = try (0..<2).map { try found.value(of: $0) }
        }
        #expect(meter.cost == Self.cost(2, 1, 0))
        #expect(Set(meter.statements.map(\.text)) == ["select 1", "select 2"])
        #expect(answers == [1, 2])
        #expect(database.statistics.queries - before.queries == 2 && database.statistics.roundTrips - before.roundTrips == 1)
        let alike = try await Self.counted {
          let found = try await database.reads.batch {
            $0.add("select \(1)")
            $0.add("select \(2)")
          }
          answers = try (0..<2).map { try found.value(of: $0) }
        }
        // One text with two values: two statements are run, and one is known.
        #expect(alike.cost == Self.cost(2, 1, 0) && alike.statements.map(\.text) == ["select $1"])
        #expect(answers == [1, 2])
      }
    }
  }

  @Test("Each of many batches at once has all of its own answers, and all of its statements are counted")
  func crowd() async throws {
    try await Self.withDatabase { database, all in
      let before = (database.statistics.queries, all.cost.statements)
      let wrong = try await withThrowingTaskGroup(of: Bool.self) { tasks in
        for number in 0..<500 {
          tasks.addTask {
            let found = try await database.reads.batch {
              $0.add("select 1")
              $0.add("select \(number)")
              $0.add("select 2")
              $0.add("select 2")
            }
            return try (0..<4).map { try found.value(of: $0, as: Int.self) } != [1, number, 2, 2]
          }
        }
        return try await tasks.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(wrong == 0)
      #expect(database.statistics.queries - before.0 == 2_000 && all.cost.statements - before.1 == 2_000)
    }
  }

  @Test("Statements, round trips and commits that wait for the disk are counted for each way to run them")
  func ways() async throws {
    try await Self.withDatabase { database, _ in
      let read = try await Self.counted { _ = try await database.reads.run("select 1") }
      #expect(read.cost == Self.cost(1, 1, 0))
      let write = try await Self.counted { try await database.execute("insert into item values (1)") }
      #expect(write.cost == Self.cost(1, 1, 1))
      let slowRead = try await Self.counted { _ = try await database.run("select count(*) from item") }
      #expect(slowRead.cost == Self.cost(1, 1, 0), "nothing was written")
      let batch = try await Self.counted {
        try await database.batch {
          $0.add("insert into item values (2)")
          $0.add("insert into item values (3)")
        }
      }
      #expect(batch.cost == Self.cost(2, 1, 1))
      // With what says that nobody waits for the disk.
      let relaxed = try await Self.counted { _ = try await database.relaxed.run("insert into item values (4)") }
      #expect(relaxed.cost == Self.cost(2, 1, 0))
      let steps = try await Self.counted {
        try await database.transaction { transaction in
          _ = try await transaction.execute("insert into item values (5)")
          transaction.add("insert into item values (6)")
        }
      }
      // BEGIN and the first; the second with COMMIT.
      #expect(steps.cost == Self.cost(4, 2, 1))
      #expect(Set(steps.statements.map(\.text)).isSuperset(of: ["insert into item values (5)", "insert into item values (6)"]))
      struct Refusal: Error {}
      let undone = try await Self.counted {
        await #expect(throws: Refusal.self) {
          try await database.transaction { transaction in
            _ = try await transaction.execute("insert into item values (7)")
            throw Refusal()
          }
        }
      }
      #expect(undone.cost == Self.cost(2, 1, 0))
      let late = try await Self.counted { _ = try await database.run("select 1", deadline: soon(.seconds(20))) }
      #expect(late.cost == Self.cost(2, 1, 0), "with the timeout that the deadline asks for")
    }
  }

  @Test("A whole counts what its parts count, and the database's meter what no task counts; without one nobody counts")
  func whole() async throws {
    try await Self.withDatabase { database, all in
      let call = StatementMeter(within: all)
      let before = all.cost.statements
      try await StatementMeter.$current.withValue(call) { try await database.execute("insert into item values (1)") }
      #expect(call.cost == Self.cost(1, 1, 1))
      #expect(all.cost.statements - before == 1 && all.cost.flushes == 1)
      try await database.execute("insert into item values (2)")
      #expect(call.cost.statements == 1 && all.cost.statements - before == 2 && all.cost.flushes == 2)
      #expect(Set(all.statements.map(\.text)).isSuperset(of: ["insert into item values (1)", "insert into item values (2)"]))
    }
    try await TestDatabase.with { test in
      try await test.open { database in
        let meter = try await Self.counted { _ = try await database.reads.run("select 1") }
        #expect(meter.cost == Self.cost(0, 0, 0) && meter.statements.isEmpty)
      }
    }
  }
}
