import EventLoop
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("Observing statements")
struct ObserverTests {
  /// Keeps what it is told.
  private final class Notes: StatementObserver {
    let begun = Mutex<[[String]]>([])
    let ended = Mutex<[DatabaseError.Category?]>([])
    /// Whether it wants to know how statements end.
    let isInterested: Bool

    init(isInterested: Bool = true) { self.isInterested = isInterested }

    private struct Observation: StatementObservation {
      let notes: Notes
      func statementsEnd(_ error: DatabaseError?) { notes.ended.withLock { $0.append(error?.category) } }
    }

    func statementsBegin(_ statements: [Query]) -> (any StatementObservation)? {
      begun.withLock { $0.append(statements.map(\.text)) }
      return isInterested ? Observation(notes: self) : nil
    }
  }

  private func with(_ notes: Notes, _ body: @escaping @Sendable (Database) async throws -> Void) async throws {
    try await TestDatabase.with { test in
      let database = try Database(test.configuration, group: test.group, log: test.log, observer: notes)
      await database.waitUntilReady()
      let result: Result<Void, any Error>
      do { result = .success(try await body(database)) } catch { result = .failure(error) }
      await database.shutDown()
      try result.get()
    }
  }

  @Test("Reads, writes and the steps of a transaction are told with their text, never with a parameter")
  func told() async throws {
    let notes = Notes()
    try await with(notes) { database in
      let text: String? = try await database.reads.value("select \("hunter2")::text")
      #expect(text == "hunter2")
      try await database.execute("create table item (id bigint primary key, text text)")
      _ = try await database.transaction { transaction in
        try await transaction.executeAll([
          "insert into item values (\(1), \("hunter2"))", "insert into item values (\(2), \("hunter2"))",
        ])
      }
      let error = await databaseError { try await database.execute("insert into item values (\(1), 'again')") }
      #expect(error?.category == .alreadyExists)
    }
    let begun = notes.begun.withLock { $0 }
    #expect(
      begun == [
        ["select $1::text"], ["create table item (id bigint primary key, text text)"],
        ["begin", "insert into item values ($1, $2)", "insert into item values ($1, $2)"], ["commit"],
        ["insert into item values ($1, 'again')"],
      ])
    #expect(notes.ended.withLock { $0 } == [nil, nil, nil, nil, .alreadyExists])
  }

  @Test("An observer that is not interested is told of no end, and nothing else changes")
  func notInterested() async throws {
    let notes = Notes(isInterested: false)
    try await with(notes) { database in
      let one: Int? = try await database.reads.value("select 1")
      #expect(one == 1)
    }
    #expect(notes.begun.withLock { $0.count } == 1 && notes.ended.withLock { $0.isEmpty })
  }

  @Test("Those that wait for a connection of the pool are counted with the time they waited")
  func poolWaits() async throws {
    try await TestDatabase.with { test in
      var configuration = test.configuration
      configuration.poolSize = 1
      let database = try Database(configuration, group: test.group, log: test.log)
      await database.waitUntilReady()
      try await database.execute("select 1")
      // The first had to wait until its connection was open.
      let before = database.statistics
      #expect(before.poolWaits == 1 && before.poolWaitNanoseconds > 0)
      try await database.execute("select 1")
      #expect(database.statistics.poolWaits == 1)
      let waiter = try await database.transaction { _ in
        let waiter = Task { try await database.execute("select 1") }
        try await eventually("a task waits") { database.statistics.waiting == 1 }
        return waiter
      }
      _ = try await waiter.value
      #expect(database.statistics.poolWaits == 2 && database.statistics.poolWaitNanoseconds > before.poolWaitNanoseconds)
      await database.shutDown()
    }
  }
}
