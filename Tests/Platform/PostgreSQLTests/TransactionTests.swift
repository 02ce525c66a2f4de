import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("Transactions")
struct TransactionTests {
  private struct Refusal: Error {}

  private func withTable(
    _ change: (inout DatabaseConfiguration) -> Void = { _ in }, _ body: (TestDatabase, Database) async throws -> Void
  ) async throws {
    try await TestDatabase.with { test in
      try await test.script(
        "create table thing (id int8 primary key, parent int8 references thing deferrable initially deferred)")
      try await test.open(change) { database in try await body(test, database) }
    }
  }

  private func ids(_ database: Database) async throws -> [Int] {
    try await database.reads.rows("select id from thing order by id")
  }

  @Test("A transaction commits what its body did, and returns its value")
  func commit() async throws {
    try await withTable { _, database in
      let value = try await database.transaction { transaction in
        try await transaction.execute("insert into thing values (\(1))")
        #expect(try await transaction.executeAll(["insert into thing values (2)", "update thing set parent = 1"]) == [1, 2])
        let count: Int? = try await transaction.row("select count(*) from thing")
        return count
      }
      #expect(value == 2)
      #expect(try await ids(database) == [1, 2])
    }
  }

  @Test("An error of the body rolls everything back and is thrown on")
  func rollback() async throws {
    try await withTable { _, database in
      await #expect(throws: Refusal.self) {
        try await database.transaction { transaction in
          try await transaction.execute("insert into thing values (1)")
          throw Refusal()
        }
      }
      #expect(try await ids(database) == [])
      try await database.execute("insert into thing values (1)")
      #expect(try await ids(database) == [1])
    }
  }

  @Test("A failed statement that the body swallows still keeps the transaction from committing")
  func swallowed() async throws {
    try await withTable { _, database in
      let error = await databaseError {
        try await database.transaction { transaction in
          try await transaction.execute("insert into thing values (1)")
          _ = await databaseError { try await transaction.execute("insert into thing values (1)") }
        }
      }
      #expect(error?.code == .queryFailed)
      let ids = try await ids(database)
      #expect(ids == [])
    }
  }

  @Test("A transaction that has ended is refused")
  func ended() async throws {
    try await withTable { _, database in
      let leaked = try await database.transaction { $0 }
      #expect(await databaseError { _ = try await leaked.run("select 1") }?.code == .misuse)
      #expect(await databaseError { try await leaked.commit() }?.code == .misuse)
      leaked.add("insert into thing values (1)")
      let again = await databaseError {
        try await database.transaction { transaction in
          try await transaction.commit { $0.add("insert into thing values (2)") }
          try await transaction.execute("insert into thing values (3)")
        }
      }
      #expect(again?.code == .misuse)
      #expect(try await ids(database) == [2])
    }
  }

  @Test("COMMIT costs no round trip of its own where the last statements are known to be the last (PF-11)")
  func commitTravels() async throws {
    try await withTable { _, database in
      try await database.execute("select 1")
      // BEGIN with the first statement, COMMIT with the last ones: those that were added and those that the commit was given.
      var before = database.statistics.roundTrips
      let answers = try await database.transaction { transaction in
        let count: Int? = try await transaction.value("select count(*) from thing")
        #expect(count == 0)
        transaction.add("insert into thing values (1)")
        return try await transaction.commit {
          $0.add("insert into thing values (2)")
          $0.add("select count(*) from thing")
        }
      }
      #expect(database.statistics.roundTrips - before == 2)
      #expect(answers.results.count == 2 && answers.affectedRows[0] == 1)
      #expect(try answers.value(of: 1) == 2)
      // What is added alone travels with COMMIT as well, and what is added before a statement travels with that.
      before = database.statistics.roundTrips
      try await database.transaction { transaction in
        transaction.add("insert into thing values (3)")
        let count: Int? = try await transaction.value("select count(*) from thing")
        #expect(count == 3)
        transaction.add("insert into thing values (4)")
      }
      #expect(database.statistics.roundTrips - before == 2)
      // A transaction that turns out to be known as a whole is one segment, whatever its isolation.
      for (id, isolation) in [(5, Isolation.readCommitted), (6, .repeatableRead), (7, .serializable)] {
        before = database.statistics.roundTrips
        try await database.transaction(isolation: isolation, deadline: soon(.seconds(20))) {
          $0.add("insert into thing values (\(id))")
        }
        #expect(database.statistics.roundTrips - before == 1)
      }
      #expect(try await ids(database) == [1, 2, 3, 4, 5, 6, 7])
    }
  }

  @Test("An error among the statements that travel with COMMIT rolls all back and is thrown (PF-11)")
  func commitFails() async throws {
    try await withTable({ $0.poolSize = 1 }) { _, database in
      try await database.execute("insert into thing values (1)")
      let added = await databaseError {
        try await database.transaction { transaction in
          try await transaction.execute("insert into thing values (2)")
          transaction.add("insert into thing values (1)")
        }
      }
      #expect(added?.code == .alreadyExists && added?.constraint == "thing_pkey")
      let given = await databaseError {
        try await database.transaction { transaction in
          try await transaction.execute("insert into thing values (3)")
          try await transaction.commit {
            $0.add("insert into thing values (4)")
            $0.add("insert into thing values (1)")
          }
        }
      }
      #expect(given?.code == .alreadyExists)
      let whole = await databaseError {
        try await database.transaction { transaction in
          transaction.add("insert into thing values (5)")
          transaction.add("insert into thing values (1)")
        }
      }
      #expect(whole?.code == .alreadyExists)
      let deferred = await databaseError { try await database.transaction { $0.add("insert into thing values (6, 999)") } }
      #expect(deferred?.sqlState == .foreignKeyViolation)
      let swallowed = await databaseError {
        try await database.transaction { transaction in
          _ = await databaseError { try await transaction.execute("insert into thing values (1)") }
          try await transaction.commit()
        }
      }
      #expect(swallowed?.code == .queryFailed)
      await #expect(throws: Refusal.self) {
        try await database.transaction { transaction in
          transaction.add("insert into thing values (7)")
          throw Refusal()
        }
      }
      #expect(try await ids(database) == [1])
    }
  }

  @Test("Statements of a batch inside a transaction answer in one round trip (PF-11)")
  func batchInside() async throws {
    try await withTable { _, database in
      try await database.execute("select 1")
      let before = database.statistics.roundTrips
      try await database.transaction { transaction in
        let answers = try await transaction.batch {
          $0.add("insert into thing values (1), (2)")
          $0.add("select id from thing order by id")
        }
        let rows: [Int] = try answers.rows(of: 1)
        #expect(answers.affectedRows == [2, 2] && rows == [1, 2])
      }
      #expect(database.statistics.roundTrips - before == 2)
    }
  }

  @Test("A single write says how many rows it touched, and which constraint refused it")
  func execute() async throws {
    try await withTable { _, database in
      #expect(try await database.execute("insert into thing select generate_series(1, \(5))") == 5)
      #expect(try await database.execute("delete from thing where id > \(3)") == 2)
      let returned: [Int] = try await database.rows("insert into thing values (9) returning id")
      #expect(returned == [9])
      let error = await databaseError { try await database.execute("insert into thing values (1)") }
      #expect(error?.code == .alreadyExists && error?.constraint == "thing_pkey" && error?.category == .alreadyExists)
      #expect(error?.message.contains("(1)") == false)
    }
  }

  @Test("A batch is all or nothing in one round trip, also when only its commit fails")
  func batch() async throws {
    try await withTable { _, database in
      try await database.execute("select 1")
      let before = database.statistics.roundTrips
      let results = try await database.batch {
        $0.add("insert into thing values (\(1))")
        $0.add("insert into thing values (\(2)), (\(3))")
        $0.add("select id from thing order by id")
      }
      #expect(database.statistics.roundTrips - before == 1)
      #expect(results.affectedRows == [1, 2, 3])
      let rows: [Int] = try results.rows(of: 2)
      #expect(rows == [1, 2, 3])
      let middle = await databaseError {
        try await database.batch {
          $0.add("insert into thing values (4)")
          $0.add("insert into thing values (1)")
          $0.add("insert into thing values (5)")
        }
      }
      #expect(middle?.code == .alreadyExists)
      let late = await databaseError { try await database.batch { $0.add("insert into thing values (6, 999)") } }
      #expect(late?.code == .constraintViolated && late?.sqlState == .foreignKeyViolation)
      #expect(try await ids(database) == [1, 2, 3])
    }
  }

  @Test("The deadline of a write is its statement timeout; the connection serves on")
  func deadline() async throws {
    try await withTable({ $0.poolSize = 1 }) { _, database in
      let error = await databaseError {
        try await database.execute("insert into thing select 1 from pg_sleep(10)", deadline: soon(.milliseconds(100)))
      }
      #expect(error?.code == .deadlineExceeded)
      try await database.execute("insert into thing values (2)")
      #expect(try await ids(database) == [2])
      let timeout: String? = try await database.row("select current_setting('statement_timeout')")
      #expect(timeout == "30s")
      let inside = await databaseError {
        try await database.transaction(deadline: soon(.milliseconds(100))) { _ = try await $0.run("select pg_sleep(10)") }
      }
      #expect(inside?.code == .deadlineExceeded)
      #expect(try await database.value("select 3") == 3)
    }
  }

  @Test("A full queue refuses at once, a long wait ends, and whoever waits is served in turn")
  func queue() async throws {
    try await withTable({
      $0.poolSize = 1
      $0.poolQueueLimit = 1
      $0.poolWait = .seconds(2)
    }) { test, database in
      try await database.transaction { transaction in
        try await transaction.execute("insert into thing values (1)")
        let waiting = Task(executorPreference: test.group.loops[0]) {
          await databaseError { try await database.execute("insert into thing values (2)") }
        }
        try await eventually("a task waits") { database.statistics.waiting == 1 }
        let refused = await databaseError { try await database.execute("insert into thing values (3)") }
        #expect(refused?.code == .poolExhausted && refused?.category == .resourceExhausted)
        #expect(await waiting.value?.code == .poolExhausted)
        let early = await databaseError { try await database.execute("select 1", deadline: soon(.milliseconds(20))) }
        #expect(early?.code == .deadlineExceeded)
      }
      try await database.execute("insert into thing values (4)")
      #expect(try await ids(database) == [1, 4])
      #expect(database.statistics.inUse == 0 && database.statistics.poolConnections == 1)
    }
  }

  @Test("A hundred transactions share a pool of four")
  func many() async throws {
    try await withTable { test, database in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<100 {
          group.addTask(executorPreference: test.group.loops[0]) {
            try await database.transaction { transaction in
              try await transaction.execute("insert into thing values (\(number))")
              if number % 10 == 0 { try await transaction.execute("update thing set parent = id where id = \(number)") }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await ids(database).count == 100)
      #expect(database.statistics.poolConnections == 4)
    }
  }

  @Test("A cancelled transaction is rolled back, and its connection serves on")
  func cancellation() async throws {
    try await withTable({ $0.poolSize = 1 }) { test, database in
      let task = Task(executorPreference: test.group.loops[0]) {
        await databaseError {
          try await database.transaction { transaction in
            try await transaction.execute("insert into thing values (1)")
            _ = try await transaction.run("select pg_sleep(20)")
          }
        }
      }
      try await eventually("the statement runs") {
        try await database.reads.value(
          """
          select exists (
            select from pg_stat_activity where datname = current_database() and state = 'active'
            and query like '%pg_sleep(20)%' and pid <> pg_backend_pid())
          """) == true
      }
      task.cancel()
      #expect(await task.value?.code == .cancelled)
      try await database.execute("insert into thing values (2)")
      #expect(try await ids(database) == [2])
    }
  }

  @Test("A transaction that loses against another is run again, and only then")
  func retrying() async throws {
    try await withTable { _, database in
      try await database.execute("insert into thing values (1), (2)")
      var attempts = 0
      try await database.transaction(retrying: 3) { transaction in
        attempts += 1
        let _: Int? = try await transaction.row("select count(*) from thing")
        if attempts == 1 { try await database.execute("update thing set parent = 2 where id = 1") }
        try await transaction.execute("update thing set parent = 1 where id = 1")
      }
      #expect(attempts == 2)
      var refusals = 0
      await #expect(throws: Refusal.self) {
        try await database.transaction(retrying: 3) { _ in
          refusals += 1
          throw Refusal()
        }
      }
      #expect(refusals == 1)
      let lost = await databaseError {
        try await database.transaction(isolation: .serializable) { transaction in
          let _: Int? = try await transaction.row("select count(*) from thing")
          try await database.execute("update thing set parent = 2 where id = 1")
          try await transaction.execute("update thing set parent = 1 where id = 1")
        }
      }
      #expect(lost?.code == .aborted && lost?.sqlState == .serializationFailure)
    }
  }
}
