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
}
