import EventLoop
import PostgreSQL
import TestSupport
import Testing

/// What becomes of reads while the server does not answer. It is held by a lock that each of these tests has in another session.
@Suite("Reads that wait for the server")
struct ReadQueueTests {
  /// Runs `body` while the server holds the answer to a read of lock 1; the body releases it by the session it gets.
  private func holding(
    _ change: @escaping @Sendable (inout DatabaseConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (Database, EventLoop, Session) async throws -> Void
  ) async throws {
    try await TestDatabase.with { test in
      // Counts in the session that it runs in: what reads of the shared connection have run there.
      try await test.script(
        """
        create function count_run() returns int language sql as
          $$ select set_config('test.runs', (coalesce(nullif(current_setting('test.runs', true), ''), '0')::int + 1)::text, false)::int $$
        """)
      try await Session.with(test.configuration, group: test.group, log: test.log) { session in
        _ = try await session.run("select pg_advisory_lock(1)")
        try await test.open({
          $0.readTimeout = .seconds(60)
          $0.stallTimeout = .seconds(60)
          change(&$0)
        }) { database in
          try await body(database, test.group.loops[0], session)
        }
      }
    }
  }

  private func start<Value: Sendable>(_ loop: EventLoop, _ body: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
    Task(executorPreference: loop, operation: body)
  }

  /// Sends two segments of one read each: the first is held, the second follows it.
  private func fill(_ database: Database, _ loop: EventLoop) async throws -> [Task<DatabaseError?, Never>] {
    var tasks: [Task<DatabaseError?, Never>] = []
    for number in 1...2 {
      tasks.append(
        start(loop) {
          do {
            _ =
              number == 1
              ? try await database.reads.run("select pg_advisory_xact_lock_shared(1)")
              : try await database.reads.run("select count_run()")
            return nil
          } catch {
            return error as? DatabaseError
          }
        })
      try await eventually("segment \(number) has left") { database.statistics.roundTrips == number }
    }
    return tasks
  }

  private func release(_ session: Session) async throws { _ = try await session.run("select pg_advisory_unlock(1)") }

  @Test(
    "Reads given up while the server stands still never reach it, and the next read after the stall is answered first (RF-06)")
  func abandoned() async throws {
    try await holding { database, loop, session in
      let held = try await fill(database, loop)
      let late = (0..<2_000).map { _ in
        start(loop) {
          await databaseError { _ = try await database.reads.run("select count_run()", deadline: soon(.milliseconds(200))) }
        }
      }
      for task in late { #expect(await task.value?.code == .deadlineExceeded) }
      #expect(database.statistics.roundTrips == 2 && database.statistics.queries == 2, "two segments are out, and no more")
      #expect(database.statistics.waitingReads == 2_000, "what nobody awaits is dropped when it is met")
      let fresh = start(loop) { try? await database.reads.value("select 7", as: Int.self) }
      try await eventually("the fresh read waits") { database.statistics.waitingReads == 2_001 }
      try await release(session)
      #expect(await fresh.value == 7)
      for task in held { #expect(await task.value == nil) }
      #expect(try await database.reads.value("select current_setting('test.runs')") == "1", "none of the two thousand was run")
      // The lock, the one behind it, the fresh one and the count.
      #expect(database.statistics.queries == 4 && database.statistics.waitingReads == 0)
    }
  }

  @Test("Reads that are cancelled while they wait never reach the server (RF-06)")
  func cancelled() async throws {
    try await holding { database, loop, session in
      let held = try await fill(database, loop)
      let late = (0..<500).map { _ in
        start(loop) { await databaseError { _ = try await database.reads.run("select count_run()") } }
      }
      try await eventually("they wait") { database.statistics.waitingReads == 500 }
      for task in late { task.cancel() }
      for task in late { #expect(await task.value?.code == .cancelled) }
      try await release(session)
      for task in held { #expect(await task.value == nil) }
      #expect(try await database.reads.value("select current_setting('test.runs')") == "1")
    }
  }

  @Test("What still waits when the server goes on is answered, in segments of at most 128 (RF-06)")
  func patient() async throws {
    try await holding { database, loop, session in
      let held = try await fill(database, loop)
      let waiting = (0..<1_000).map { number in
        start(loop) { try? await database.reads.value("select \(number) + 1", as: Int.self) }
      }
      try await eventually("they wait") { database.statistics.waitingReads == 1_000 }
      try await release(session)
      for (number, task) in waiting.enumerated() { #expect(await task.value == number + 1) }
      for task in held { #expect(await task.value == nil) }
      let trips = database.statistics.roundTrips - 2
      #expect(trips == 8, "\(trips) segments for a thousand reads that left together")
    }
  }

  @Test("As many reads wait as the limit says; one more is refused, until those that gave up have left room (RF-06)")
  func bound() async throws {
    try await holding({ $0.pipelinedReadLimit = 20 }) { database, loop, session in
      let held = try await fill(database, loop)
      let waiting = (0..<20).map { _ in
        start(loop) { await databaseError { _ = try await database.reads.run("select count_run()") } }
      }
      try await eventually("they wait") { database.statistics.waitingReads == 20 }
      let refused = await databaseError { _ = try await database.reads.run("select 1") }
      #expect(refused?.code == .poolExhausted && refused?.category == .resourceExhausted)
      for task in waiting { task.cancel() }
      for task in waiting { #expect(await task.value?.code == .cancelled) }
      try await eventually("there is room again") {
        let more = start(loop) {
          await databaseError { _ = try await database.reads.run("select 1", deadline: soon(.milliseconds(50))) }
        }
        return await more.value?.code == .deadlineExceeded
      }
      #expect(database.statistics.waitingReads < 20)
      try await release(session)
      for task in held { #expect(await task.value == nil) }
      #expect(try await database.reads.value("select current_setting('test.runs')") == "1")
    }
  }

  @Test("Reads that wait when the connection breaks leave over the next one")
  func broken() async throws {
    try await holding { database, loop, session in
      let held = try await fill(database, loop)
      let waiting = (0..<10).map { number in start(loop) { try? await database.reads.value("select \(number)", as: Int.self) } }
      try await eventually("they wait") { database.statistics.waitingReads == 10 }
      _ = try await session.run(
        """
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name like '% reads'
        """)
      try await release(session)
      for (number, task) in waiting.enumerated() { #expect(await task.value == number) }
      for task in held { #expect(await task.value == nil) }
    }
  }
}
