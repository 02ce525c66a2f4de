import EventLoop
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("Listening")
struct ListenTests {
  @Test("What is notified is heard with its payload once it is committed, and again after the connection broke")
  func hears() async throws {
    try await TestDatabase.with { test in
      try await test.open { database in
        let heard = Mutex<[Heard]>([])
        let listening = Task {
          await database.listen(to: ["one", "Two \"quoted\""]) { event in heard.withLock { $0.append(event) } }
        }
        try await eventually("it listens") { heard.withLock { $0 } == [.listening] }
        struct Refusal: Error {}
        try? await database.transaction { transaction in
          _ = try await transaction.run("select pg_notify('one', 'rolled back')")
          throw Refusal()
        }
        _ = try await database.run("select pg_notify('one', 'first')")
        _ = try await database.run("select pg_notify('elsewhere', '')")
        _ = try await database.run("select pg_notify('Two \"quoted\"', 'second')")
        try await eventually("both are heard") {
          heard.withLock { $0 } == [
            .listening, .notification(channel: "one", payload: "first"),
            .notification(channel: "Two \"quoted\"", payload: "second"),
          ]
        }
        try await test.script(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name like '%notifications' and datname = current_database()"
        )
        try await eventually("it listens again") { heard.withLock { $0.last } == .listening }
        _ = try await database.run("select pg_notify('one', 'third')")
        try await eventually("the third is heard") {
          heard.withLock { $0.last } == .notification(channel: "one", payload: "third")
        }
        listening.cancel()
        await listening.value
        try await eventually("its connection is closed") {
          let count: Int? = try await database.value(
            "select count(*) from pg_stat_activity where application_name like '%notifications' and datname = current_database()")
          return count == 0
        }
      }
    }
  }

  @Test("Listening ends with the loops, its connection too, and begins on none that has ended; so do calls (RF-08)")
  func loopsEnd() async throws {
    try await TestDatabase.with { test in
      let group = try EventLoopGroup(count: 1, name: "ended")
      let database = try Database(test.configuration, group: group, log: test.log)
      await database.waitUntilReady()
      let (heard, ended) = (Tally("times that it listens"), Tally("listeners and calls that ended"))
      // Tasks of their own: one that never ends fails the test and does not hold it.
      Task {
        await database.listen(to: ["one"]) { _ in heard.add() }
        ended.add()
      }
      try await heard.reaches(1)
      let slow = Task {
        let code = await code { try await database.run("select pg_sleep(60)") }
        ended.add()
        return code
      }
      try await test.open { other in
        try await eventually("it sleeps") {
          let count: Int? = try await other.value("select count(*) from pg_stat_activity where query like 'select pg_sleep(60)%'")
          return count == 1
        }
        await group.end(leaving: database)
        try await ended.reaches(1)
        try await eventually("the listener's connection is closed") {
          let count: Int? = try await other.value(
            "select count(*) from pg_stat_activity where application_name like '%notifications' and datname = current_database()")
          return count == 0
        }
      }
      slow.cancel()
      try await ended.reaches(2)
      #expect(await slow.value == .cancelled)
      Task {
        await database.listen(to: ["one"]) { _ in heard.add() }
        ended.add()
      }
      Task {
        #expect(await code { try await database.run("select 1") } == .closed)
        #expect(await code { try await database.reads.run("select 1") } == .closed)
        #expect(await code { try await database.transaction { try await $0.run("select 1") } } == .closed)
        ended.add()
      }
      Task {
        await database.shutDown()
        ended.add()
      }
      try await ended.reaches(5)
      #expect(heard.value == 1)
    }
  }

  private func code<Value>(_ body: () async throws -> Value) async -> DatabaseError.Code? {
    do {
      _ = try await body()
      return nil
    } catch {
      return (error as? DatabaseError)?.code
    }
  }
}
