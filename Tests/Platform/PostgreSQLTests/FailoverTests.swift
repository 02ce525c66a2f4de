import EventLoop
import Glibc
import PostgreSQL
import TestSupport
import Testing

/// Two servers of which one is the primary, as a failover leaves them.
@Suite("Failover", .serialized)
struct FailoverTests {
  private func with(
    _ body: (_ first: PrivatePostgreSQL, _ second: PrivatePostgreSQL, DatabaseConfiguration, TestDatabase) async throws -> Void
  ) async throws {
    let (first, second) = (try await PrivatePostgreSQL.start(), try await PrivatePostgreSQL.start())
    defer {
      first.remove()
      second.remove()
    }
    var both = first.configuration()
    both.hosts += second.configuration().hosts
    both.longestReconnectPause = .milliseconds(200)
    // The loops and the log of a test; its database is of no interest.
    try await TestDatabase.with { test in try await body(first, second, both, test) }
  }

  private func script(_ text: String, _ server: PrivatePostgreSQL, _ test: TestDatabase) async throws {
    var configuration = server.configuration()
    configuration.requiresPrimary = false
    try await Session.with(configuration, group: test.group, log: test.log) { try await $0.script(text) }
  }

  private func port(_ database: any QueryRunning) async throws -> String? {
    try await database.value("select current_setting('port')")
  }

  @Test(
    "A server that takes no writes any more is left for the other: one write fails as unavailable, later ones succeed (PF-06)")
  func readOnly() async throws {
    try await with { first, second, both, test in
      try await script("create table thing (id int)", first, test)
      try await script("create table thing (id int)", second, test)
      let database = try Database(both, group: test.group, log: test.log)
      await database.waitUntilReady()
      try await database.execute("insert into thing values (1)")
      #expect(try await port(database) == "\(first.port)")
      #expect(try await port(database.reads) == "\(first.port)")
      try await script("alter system set default_transaction_read_only = on", first, test)
      try await script("select pg_reload_conf()", first, test)
      var errors: [DatabaseError] = []
      try await eventually("a write succeeds, on the other server") {
        do {
          try await database.execute("insert into thing values (2)")
          return try await port(database) == "\(second.port)"
        } catch let error as DatabaseError {
          errors.append(error)
          return false
        }
      }
      #expect(errors.allSatisfy { $0.category == .unavailable && !$0.mayHaveCommitted }, "\(errors)")
      #expect(errors.contains { $0.sqlState == .readOnlyTransaction })
      try await eventually("reads follow") { try await port(database.reads) == "\(second.port)" }
      // A transaction meets the same: it is told so, and its connection is replaced.
      try await script("alter system set default_transaction_read_only = off", first, test)
      try await script("select pg_reload_conf()", first, test)
      try await script("alter system set default_transaction_read_only = on", second, test)
      try await script("select pg_reload_conf()", second, test)
      var met: DatabaseError?
      try await eventually("a transaction succeeds, back on the first") {
        do {
          return try await database.transaction { transaction in
            try await transaction.execute("insert into thing values (3)")
            return try await port(transaction) == "\(first.port)"
          }
        } catch let error as DatabaseError {
          met = met ?? error
          return false
        }
      }
      #expect(met?.category == .unavailable)
      await database.shutDown()
    }
  }

  @Test("What only reads by design is refused its writes as before, and keeps its connection (PF-06)")
  func byDesign() async throws {
    try await TestDatabase.with { test in
      try await test.script("create table thing (id int)")
      try await test.open({ $0.readTimeout = .milliseconds(300) }) { database in
        let shared = await databaseError { _ = try await database.reads.run("insert into thing values (1)") }
        #expect(shared?.code == .readOnly)
        let slow = await databaseError { _ = try await database.reads.run("insert into thing select 1 from pg_sleep(1)") }
        #expect(slow?.code == .readOnly)
        #expect(database.statistics.reconnects == 0 && database.isReady)
      }
    }
  }

  @Test("A primary that goes down and comes back as a standby is passed over; alone, it is none to be ready with (PF-06)")
  func demoted() async throws {
    try await with { first, second, both, test in
      let database = try Database(both, group: test.group, log: test.log)
      let alone = try Database(first.configuration(), group: test.group, log: test.log)
      await database.waitUntilReady()
      await alone.waitUntilReady()
      #expect(try await port(database) == "\(first.port)")
      // A fast shutdown: 57P01 to every session.
      try await first.stop(signal: SIGINT)
      try first.demote()
      try await first.restart()
      try await eventually("writes go to the other server") { (try? await port(database)) == "\(second.port)" }
      try await eventually("reads go there, too") { (try? await port(database.reads)) == "\(second.port)" }
      #expect(database.isReady)
      let refused = await databaseError { _ = try await alone.execute("select 1") }
      #expect(refused?.category == .unavailable && !alone.isReady)
      // Whoever asks for any server gets it.
      var any = first.configuration()
      any.requiresPrimary = false
      let lenient = try Database(any, group: test.group, log: test.log)
      await lenient.waitUntilReady()
      #expect(try await lenient.reads.value("select pg_is_in_recovery()") == true)
      for database in [database, alone, lenient] { await database.shutDown() }
    }
  }

  @Test("A host that accepts and says nothing keeps nobody from the next one (PF-06)")
  func silent() async throws {
    let silent = try ServerRelay.listener()
    defer { close(silent.descriptor) }
    try await TestDatabase.with { test in
      try await test.open({
        $0.hosts.insert(.init("127.0.0.1", port: silent.port), at: 0)
        $0.connectTimeout = .milliseconds(300)
      }) { database in
        let (one, two): (Int?, Int?) = (try await database.value("select 1"), try await database.reads.value("select 2"))
        #expect(one == 1 && two == 2)
        #expect(OpenSockets.connected(toPort: silent.port) == 0)
      }
    }
  }
}
