import EventLoop
import Glibc
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("Outages")
struct OutageTests {
  @Test("A killed read connection is replaced; reads that had no answer are sent again, writes are not")
  func terminated() async throws {
    try await TestDatabase.with { test in
      try await test.script("create table thing (id int)")
      try await test.open({ $0.readTimeout = .seconds(20) }) { database in
        let changes = Mutex<[Bool]>([])
        database.onReadinessChange { isReady in changes.withLock { $0.append(isReady) } }
        let (reading, writing) = try await Session.with(test.configuration, group: test.group, log: test.log) { session in
          // Both wait for a lock, so that neither can end before its connection does.
          _ = try await session.run("select pg_advisory_lock(1)")
          let reading = Task(executorPreference: test.group.loops[0]) {
            let answer: Int? = try await database.reads.run("select pg_advisory_xact_lock_shared(1), 7")[0].decode(at: 1)
            return answer
          }
          let writing = Task(executorPreference: test.group.loops[0]) {
            await databaseError { try await database.execute("insert into thing select 1 from pg_advisory_xact_lock_shared(1)") }
          }
          try await eventually("both wait") {
            try await session.value(
              "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'advisory'") == 2
          }
          _ = try await session.run(
            """
            select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()
            """)
          return (reading, writing)
        }
        #expect(try await reading.value == 7)
        let error = await writing.value
        #expect(error?.code == .connectionLost && error?.category == .unavailable && error?.mayHaveCommitted == true)
        await database.waitUntilReady()
        #expect(changes.withLock { $0 } == [true, false, true])
        #expect(try await database.value("select 1") == 1)
        #expect(database.statistics.reconnects == 1)
        #expect(try await database.value("select count(*) from thing") == 0)
      }
    }
  }

  @Test(
    "While the server is down calls fail at once and health says so; once it is back all works again, and no descriptor is left")
  func stopped() async throws {
    let server = try await PrivatePostgreSQL.start()
    defer { server.remove() }
    var address = server.configuration()
    address.host = "127.0.0.1"
    address.password = "postgres"
    try await TestDatabase.with(on: address) { test in
      try await test.open({ $0.longestReconnectPause = .milliseconds(100) }) { database in
        #expect(try await database.value("select 1") == 1)
        // The server watches us as we watch it: it must not keep the locks of a connection that a network has dropped.
        #expect(try await database.value("select current_setting('tcp_keepalives_idle')") == "5")
        #expect(try await database.value("select current_setting('tcp_keepalives_interval')") == "5")
        #expect(try await database.value("select current_setting('tcp_user_timeout')") == "10000")
        for signal in [SIGINT, SIGKILL] {
          try await server.stop(signal: signal)
          try await eventually("the outage is noticed") { !database.isReady }
          // The first attempts may still be hopeful; from then on there is no waiting.
          for _ in 0..<3 {
            let read = await databaseError { _ = try await database.reads.run("select 1") }
            let write = await databaseError { _ = try await database.execute("select 1") }
            #expect(read?.category == .unavailable && write?.category == .unavailable)
          }
          #expect(!database.isReady && database.statistics.readyLoops == 0)
          try await server.restart()
          await database.waitUntilReady()
          #expect(try await database.reads.value("select 2") == 2)
          #expect(try await database.value("select 3") == 3)
        }
        #expect(try openSockets(to: server.port) == 2)
      }
      #expect(try openSockets(to: server.port) == 0)
    }
  }

  @Test("A server that hangs is noticed although nobody reads: the database is not ready, and connects again by itself")
  func hanging() async throws {
    try await TestDatabase.with { test in
      try await test.open({
        $0.heartbeatPause = .milliseconds(100)
        $0.stallTimeout = .seconds(2)
      }) { database in
        let changes = Mutex<[Bool]>([])
        database.onReadinessChange { isReady in changes.withLock { $0.append(isReady) } }
        let server: Int32? = try await database.value(
          "select pid from pg_stat_activity where datname = current_database() and application_name like '% reads'")
        let stopped = try #require(server)
        #expect(kill(stopped, SIGSTOP) == 0)
        defer { kill(stopped, SIGCONT) }
        try await eventually("the silence is noticed") { changes.withLock { $0.contains(false) } }
        try await eventually("there is another connection") { changes.withLock { $0.count >= 3 } }
        #expect(changes.withLock { $0.prefix(3) } == [true, false, true])
        #expect(try await database.reads.value("select pg_backend_pid() <> \(stopped)") == true)
      }
    }
  }

  @Test("Nobody listens: the database is not ready, calls fail, shutting down works")
  func absent() async throws {
    let group = try EventLoopGroup(count: 1, name: "absent")
    var configuration = DatabaseConfiguration(host: "127.0.0.1", database: "none", user: "nobody")
    configuration.port = 1
    try await TestDatabase.with { test in
      let database = try Database(configuration, group: test.group, log: test.log)
      let error = await databaseError { _ = try await database.reads.run("select 1") }
      #expect(error?.code == .connectionLost && !database.isReady)
      await database.shutDown()
      let closed = await databaseError { _ = try await database.reads.run("select 1") }
      #expect(closed?.code == .closed)
    }
    let pool = BlockingPool(maximumThreads: 1)
    defer { pool.shutDown() }
    try await pool.run { group.shutDown() }
  }

  /// How many descriptors of this process are TCP connections to a port.
  private func openSockets(to port: UInt16) throws -> Int {
    let suffix = ":" + ("000" + String(port, radix: 16, uppercase: true)).suffix(4)
    let inodes = Set(
      try contents("/proc/net/tcp").split(separator: "\n").dropFirst().compactMap { line -> String? in
        let fields = line.split(separator: " ")
        return fields[2].hasSuffix(suffix) ? "socket:[\(fields[9])]" : nil
      })
    guard let directory = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(directory) }
    var count = 0
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      var target = [UInt8](repeating: 0, count: 64)
      let length = target.withUnsafeMutableBytes {
        readlink("/proc/self/fd/\(name)", $0.baseAddress!.assumingMemoryBound(to: CChar.self), 64)
      }
      if length > 0 && inodes.contains(String(decoding: target.prefix(length), as: UTF8.self)) { count += 1 }
    }
    return count
  }

  private func contents(_ path: String) throws -> String {
    guard let file = fopen(path, "r") else { throw DatabaseError(.misuse, "no \(path)") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer.prefix(count) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
