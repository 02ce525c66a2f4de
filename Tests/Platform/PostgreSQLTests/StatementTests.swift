import EventLoop
import PostgreSQL
import TestSupport
import Testing

/// What becomes of reads that rely on a PREPARE which others are still waiting for.
@Suite("Statements that are prepared while others rely on them")
struct StatementTests {
  /// Starts `reads` on one tick of the loop, and waits until they have left with their sync, or wait until two segments are no
  /// longer on their way.
  private func sendSegment(
    _ database: Database, on loop: EventLoop, _ reads: [@Sendable () async -> Bool]
  ) async throws -> [Task<Bool, Never>] {
    let before = database.statistics
    let tasks = try await loop.perform { reads.map { read in Task(executorPreference: loop, operation: read) } }
    try await eventually("the segment has left, or waits") {
      let now = database.statistics
      return now.roundTrips > before.roundTrips || now.waitingReads >= before.waitingReads + reads.count
    }
    return tasks
  }

  @Test("A PREPARE that a neighbour's error aborts fails none of the reads that were sent after it, and is repeated once")
  func abortedPrepare() async throws {
    try await TestDatabase.with { test in
      try await test.open({ $0.readTimeout = .seconds(10) }) { database in
        let loop = test.group.loops[0]
        // The first segment keeps the server busy until all the others are on their way.
        var tasks = try await sendSegment(database, on: loop, [{ await fails(database, after: 3) }, { await adds(database, 0) }])
        for number in 1...20 {
          tasks += try await sendSegment(
            database, on: loop, [{ await adds(database, number) }, { await fails(database, after: 0) }])
        }
        for task in tasks { #expect(await task.value) }
        #expect(database.statistics.prepared == 3, "the one that fails, and twice the one that adds")
      }
    }
  }

  @Test("A statement that cannot be prepared answers each of its reads with its error, for at most three PREPAREs each")
  func broken() async throws {
    try await TestDatabase.with { test in
      try await test.open({ $0.readTimeout = .seconds(10) }) { database in
        let loop = test.group.loops[0]
        var tasks = try await sendSegment(database, on: loop, [{ await fails(database, after: 3) }])
        for number in 1...20 {
          tasks += try await sendSegment(
            database, on: loop,
            [{ await isRefused(database, number) }, { await adds(database, number) }, { await isRefused(database, number) }])
        }
        for task in tasks { #expect(await task.value) }
        let prepared = database.statistics.prepared
        // Of each of the sixty and of the one that fails; in turns, one answer a turn, it would be some eight hundred.
        #expect(prepared <= 3 * 61, "\(prepared)")
        let names: Int? = try await database.reads.row("select count(*) from pg_prepared_statements where name <> ''")
        #expect(names ?? 0 <= 3, "the one that fails, the one that adds, and this")
      }
    }
  }
}

private func adds(_ database: Database, _ number: Int) async -> Bool {
  do {
    return try await database.reads.value("select \(number) + 1") == number + 1
  } catch {
    Issue.record(error)
    return false
  }
}

private func fails(_ database: Database, after seconds: Double) async -> Bool {
  let error = await databaseError {
    let _: Int? = try await database.reads.row("select 1 / length(pg_sleep(\(seconds))::text)")
  }
  return error?.sqlState?.rawValue == "22012"
}

private func isRefused(_ database: Database, _ number: Int) async -> Bool {
  let error = await databaseError { let _: Int? = try await database.reads.row("select nonsense + \(number)") }
  return error?.sqlState?.rawValue == "42703"
}
