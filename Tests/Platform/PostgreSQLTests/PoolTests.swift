import EventLoop
import Glibc
import PostgreSQL
import TestSupport
import Testing

@Suite("The pool's connections")
struct PoolTests {
  @Test("A cancel request that is still on its way never hits the next transaction of the connection (RF-07)")
  func lateCancel() async throws {
    try await TestDatabase.with { test in
      try await ServerRelay.with(test.configuration) { relay, through in
        try await Session.with(test.configuration, group: test.group, log: test.log) { session in
          _ = try await session.run("select pg_advisory_lock(1), pg_advisory_lock(2)")
          try await test.open({
            $0.hosts = through.hosts
            $0.poolSize = 1
            $0.poolWait = .seconds(60)
          }) { database in
            let loop = test.group.loops[0]
            try relay.hold()
            let first = Task(executorPreference: loop) {
              // In a transaction of its own, whose connection comes back when the task has gone.
              await databaseError { try await database.transaction { _ = try await $0.run("select pg_advisory_xact_lock(1)") } }
            }
            try await eventually("the first waits for its lock") { try await Self.waiting(session) == 1 }
            first.cancel()
            #expect(await first.value?.code == .cancelled)
            try await relay.cancels.reaches(1)
            // It ends by itself while the request to cancel it is on its way: the connection is free, and somebody wants it.
            let second = Task(executorPreference: loop) {
              try await database.run("select pg_advisory_xact_lock(2), 7")[0].decode(Int.self, at: 1)
            }
            _ = try await session.run("select pg_advisory_unlock(1)")
            try await eventually("the first has ended") {
              try await session.value(
                """
                select count(*) from pg_locks where locktype = 'advisory' and not granted and objid = 1
                and database = (select oid from pg_database where datname = current_database())
                """) == 0
            }
            relay.release()
            try await eventually("the second waits for its lock") { try await Self.waiting(session) == 1 }
            _ = try await session.run("select pg_advisory_unlock(2)")
            #expect(try await second.value == 7)
            #expect(database.statistics.poolConnections == 1)
          }
        }
      }
    }
  }

  private static func waiting(_ session: Session) async throws -> Int? {
    try await session.value(
      "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'advisory'")
  }

  @Test("A server without free connections is not asked again as fast as it refuses, while others of the pool are alive (RF-05)")
  func tooManyClients() async throws {
    try await TestDatabase.with { test in
      // One for reads, one for writes, and no more.
      let role = "limited_\(test.configuration.database)"
      try await test.script("create role \(role) login connection limit 2")
      try await Session.with(test.configuration, group: test.group, log: test.log) { session in
        _ = try await session.run("select pg_advisory_lock(1)")
        try await test.open({
          $0.user = role
          $0.poolSize = 4
          $0.poolWait = .seconds(60)
        }) { database in
          let loop = test.group.loops[0]
          #expect(try await database.value("select 1") == 1)
          let start = MonotonicInstant.now()
          let busy = (0..<4).map { number in
            Task(executorPreference: loop) {
              try await database.run("select pg_advisory_xact_lock_shared(1), \(number)")[0].decode(Int.self, at: 1)
            }
          }
          // Three at once are refused; after that it takes the pauses of the backoff, 50 ms, 100, 200, 400, each at least by half.
          try await eventually("some attempts have failed") { database.statistics.failedConnections >= 3 * 4 }
          #expect(MonotonicInstant.now().duration(since: start) >= .milliseconds(25 + 50 + 100))
          _ = try await session.run("select pg_advisory_unlock(1)")
          for (number, task) in busy.enumerated() { #expect(try await task.value == number) }
        }
      }
      try await test.script("drop role \(role)")
    }
  }

  @Test("Who stops waiting for a connection makes room for others at once, and nobody else does")
  func abandoned() async throws {
    try await TestDatabase.with { test in
      try await Session.with(test.configuration, group: test.group, log: test.log) { session in
        try await test.open({
          $0.poolSize = 1
          $0.poolWait = .seconds(60)
          $0.poolQueueLimit = 8
        }) { database in
          let loop = test.group.loops[0]
          _ = try await session.run("select pg_advisory_lock(1)")
          func wait() -> Task<DatabaseError?, Never> {
            Task(executorPreference: loop) {
              do throws(DatabaseError) {
                _ = try await database.run("select pg_advisory_xact_lock_shared(1)")
                return nil
              } catch {
                return error
              }
            }
          }
          let holder = wait()
          try await eventually("the one connection is taken") { try await Self.waiting(session) == 1 }
          let waiting = (0..<8).map { _ in wait() }
          try await eventually("the queue is full") { database.statistics.waiting == 8 }
          #expect(await wait().value?.code == .poolExhausted)
          // Fewer than half of them, so that nobody looks at all.
          for task in waiting.prefix(3) { task.cancel() }
          for task in waiting.prefix(3) { #expect(await task.value?.code == .cancelled) }
          let others = (0..<3).map { _ in wait() }
          try await eventually("the queue is full again") { database.statistics.waiting == 8 }
          #expect(await wait().value?.code == .poolExhausted)
          _ = try await session.run("select pg_advisory_unlock(1)")
          for task in [holder] + waiting.dropFirst(3) + others { #expect(await task.value == nil) }
          try await eventually("nobody waits") { database.statistics.waiting == 0 }
        }
      }
    }
  }

  @Test("A storm on a full queue costs each that is refused the same, however many wait")
  func storm() async throws {
    try await TestDatabase.with { test in
      try await Session.with(test.configuration, group: test.group, log: test.log) { session in
        let waiting = 20_000
        try await test.open({
          $0.poolSize = 1
          $0.poolWait = .seconds(300)
          $0.poolQueueLimit = waiting
        }) { database in
          _ = try await session.run("select pg_advisory_lock(1)")
          let part = Task(executorPreference: test.group.loops[0]) {
            await withTaskGroup(of: DatabaseError?.self) { tasks in
              for _ in 0...waiting {
                tasks.addTask { await databaseError { _ = try await database.run("select pg_advisory_xact_lock_shared(1)") } }
              }
              while database.statistics.waiting < waiting - 1 { try? await test.group.loops[0].sleep(for: .milliseconds(10)) }
              // To look at all who wait for each of these would be 400 million looks.
              let start = MonotonicInstant.now()
              var refused = 0
              for _ in 0..<20_000 {
                let error = await databaseError { _ = try await database.run("select 1") }
                if error?.code == .poolExhausted { refused += 1 }
              }
              let took = MonotonicInstant.now().duration(since: start)
              tasks.cancelAll()
              await tasks.waitForAll()
              return (refused, took)
            }
          }
          let (refused, took) = await part.value
          print("20,000 refusals beside 20,000 who wait: \(took)")
          #expect(refused >= 19_999 && took < .seconds(15).withPatience, "\(refused) in \(took)")
          _ = try await session.run("select pg_advisory_unlock(1)")
        }
      }
    }
  }

  @Test("A session that is cancelled while it connects is closed, and leaves no connection behind (RF-09)")
  func cancelledSession() async throws {
    try await TestDatabase.with { test in
      // The kernel accepts, and nobody says anything.
      let silent = try ServerRelay.listener()
      defer { close(silent.descriptor) }
      var configuration = DatabaseConfiguration(host: "127.0.0.1", database: "none", user: "nobody")
      configuration.port = silent.port
      configuration.connectTimeout = .seconds(3_600)
      let attempt = Task { [configuration] in
        await databaseError {
          try await Session.with(configuration, group: test.group, log: test.log) { _ in () }
        }
      }
      try await eventually("it connects") { OpenSockets.connected(toPort: silent.port) == 1 }
      attempt.cancel()
      #expect(await attempt.value?.code == .cancelled)
      #expect(OpenSockets.connected(toPort: silent.port) == 0)
    }
  }

  @Test("A session that cannot be opened says so, and leaves no connection behind (RF-09)")
  func refusedSession() async throws {
    try await TestDatabase.with { test in
      var configuration = test.configuration
      configuration.user = "nobody_at_all"
      let error = await databaseError {
        try await Session.with(configuration, group: test.group, log: test.log) { _ in () }
      }
      #expect(error?.code == .connectionLost)
    }
  }
}
