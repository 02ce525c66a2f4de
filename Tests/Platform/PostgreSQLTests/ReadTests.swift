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

  @Test("A statement is prepared once per connection")
  func prepared() async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        for number in 0..<50 { #expect(try await database.reads.value("select \(number)") == number) }
        #expect(database.statistics.prepared == 1)
        let count: Int? = try await database.reads.row("select count(*) from pg_prepared_statements")
        #expect(count == 2)
      }
    }
  }

  @Test("A thousand concurrent reads share a few round trips and each gets its own answer")
  func thousand() async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        // They start on the loop itself: how many a thread beside it could add
        // between two ticks would be the machine's answer, not the loop's.
        let loop = test.group.loops[0]
        let before = database.statistics
        let right = try await loop.perform {
          await withTaskGroup(of: Bool.self) { group in
            for number in 0..<1000 {
              group.addTask(executorPreference: loop) {
                let answer: Int? = try? await database.reads.row("select \(number) * 2")
                return answer == number * 2
              }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
          }
        }
        #expect(right == 1000)
        let after = database.statistics
        #expect(after.queries - before.queries == 1000)
        #expect(after.roundTrips - before.roundTrips <= 20, "\(after.roundTrips - before.roundTrips) round trips")
      }
    }
  }

  @Test("However many answers come at once, each task has its own and may ask again", arguments: [1, 7, 8, 9, 16, 17])
  func handfuls(count: Int) async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        // They start on one tick of the loop, so that they travel together.
        let loop = test.group.loops[0]
        let right = try await loop.perform {
          await withTaskGroup(of: Bool.self) { group in
            for number in 0..<count {
              group.addTask(executorPreference: loop) {
                let first: Int? = try? await database.reads.value("select \(number) * 3")
                let second: Int? = try? await database.reads.value("select \(number) * 5")
                return first == number * 3 && second == number * 5
              }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
          }
        }
        #expect(right == count)
      }
    }
  }

  @Test("A task that shuts the database down amid the answers of others lets each of them end", arguments: [0, 7, 8, 30])
  func shutDownAmidAnswers(position: Int) async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        let loop = test.group.loops[0]
        let count = 40
        let ended = try await loop.perform {
          await withTaskGroup(of: Bool.self) { group in
            for number in 0..<count {
              group.addTask(executorPreference: loop) {
                do {
                  let answer: Int? = try await database.reads.value("select \(number)")
                  if number == position { await database.shutDown() }
                  return answer == number
                } catch {
                  return (error as? DatabaseError)?.code == .closed
                }
              }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
          }
        }
        #expect(ended == count)
        let error = await databaseError { _ = try await database.reads.run("select 1") }
        #expect(error?.code == .closed)
      }
    }
  }

  @Test("An error is its own read's alone: aborted neighbours are sent again, even when many fail", arguments: [1, 10, 300])
  func neighbours(errors: Int) async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        try await withThrowingTaskGroup(of: Bool.self) { group in
          for number in 0..<600 {
            let fails = number % (600 / errors) == 0
            let failsWhileItRuns = number / (600 / errors) % 2 == 0
            group.addTask(executorPreference: test.group.loops[0]) {
              if fails {
                // Fails while it runs; and, with a statement of its own, while it is prepared.
                let error =
                  failsWhileItRuns
                  ? await databaseError { let _: Int? = try await database.reads.row("select 1 / \(0 * number)") }
                  : await databaseError { let _: Int? = try await database.reads.row("select nonsense + \(number)") }
                return error?.sqlState?.rawValue == (failsWhileItRuns ? "22012" : "42703")
              }
              return try await database.reads.value("select \(number) + 1") == number + 1
            }
          }
          for try await isRight in group { #expect(isRight) }
        }
        #expect(database.isReady && database.statistics.reconnects == 0)
      }
    }
  }

  @Test("Nothing can be written through the read connection")
  func readOnly() async throws {
    try await TestDatabase.with { test in
      try await test.script("create table thing (id int)")
      try await test.open { database in
        let error = await databaseError { _ = try await database.reads.run("insert into thing values (1)") }
        #expect(error?.code == .readOnly && error?.sqlState == .readOnlyTransaction)
        let count: Int? = try await database.reads.value("select count(*) from thing")
        #expect(count == 0)
      }
    }
  }

  @Test("A read over the read timeout is run once more on the pool, where it cannot write either")
  func slow() async throws {
    try await TestDatabase.with { test in
      try await test.script("create sequence counter")
      try await test.open({ $0.readTimeout = .milliseconds(500) }) { database in
        async let quick: Int? = database.reads.row("select 5")
        let slow: String? = try await database.reads.row("select 'late' from pg_sleep(1.2)")
        #expect(slow == "late")
        #expect(try await quick == 5)
        #expect(database.statistics.slowReads == 1)
        let error = await databaseError {
          _ = try await database.reads.run("select nextval('counter') from pg_sleep(1.2)")
        }
        #expect(error?.code == .readOnly)
      }
    }
  }

  @Test("A deadline ends the wait; the late answer is nobody's, and the next is right")
  func deadline() async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        let error = await databaseError {
          let _: Int? = try await database.reads.row("select 1 from pg_sleep(0.2)", deadline: soon(.milliseconds(20)))
        }
        #expect(error?.code == .deadlineExceeded)
        for number in 0..<20 {
          let answer: Int? = try await database.reads.value("select \(number)")
          #expect(answer == number)
        }
        let past = await databaseError { _ = try await database.reads.run("select 1", deadline: .now()) }
        #expect(past?.code == .deadlineExceeded)
      }
    }
  }

  @Test("A cancelled task stops waiting at once, and its answer is nobody's")
  func cancellation() async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        let before = database.statistics.queries
        let task = Task(executorPreference: test.group.loops[0]) {
          await databaseError { let _: Int? = try await database.reads.row("select 1 from pg_sleep(0.2)") }
        }
        try await eventually("the read is on its way") { database.statistics.queries > before }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        for number in 0..<20 {
          let answer: Int? = try await database.reads.value("select \(number)")
          #expect(answer == number)
        }
        let early = Task(executorPreference: test.group.loops[0]) {
          withUnsafeCurrentTask { $0?.cancel() }
          return await databaseError { _ = try await database.reads.run("select 1") }
        }
        #expect(await early.value?.code == .cancelled)
      }
    }
  }

  @Test("A statement whose result type has changed is prepared anew")
  func changedType() async throws {
    try await TestDatabase.with { test in
      try await test.script("create table thing (id int); insert into thing values (7)")
      try await test.open { database in
        func read() async throws -> Int? { try await database.reads.run("select * from thing")[0].decode(at: 0) }
        #expect(try await read() == 7)
        try await test.script("alter table thing add column extra text")
        #expect(try await read() == 7)
        try await test.script("alter table thing drop column extra, alter column id type int8")
        #expect(try await read() == 7)
      }
    }
  }

  @Test("Each loop reads over its own connection")
  func loops() async throws {
    try await TestDatabase.with(loops: 2) { test in
      try await test.open { database in
        var backends: Set<Int32> = []
        for loop in test.group.loops {
          let task = Task(executorPreference: loop) {
            let backend: Int32? = try await database.reads.row("select pg_backend_pid()")
            return (backend, loop.isCurrent)
          }
          let (backend, isOnLoop) = try await task.value
          #expect(isOnLoop)
          if let backend { backends.insert(backend) }
        }
        #expect(backends.count == 2)
      }
    }
  }
}
