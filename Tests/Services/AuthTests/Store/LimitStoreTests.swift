import AuthDomain
import AuthStore
import EventLoop
import Limits
import Logging
import PostgreSQL
import Testing
import Values

@Suite("The database as the serving role sees it", .serialized)
struct LimitStoreTests {
  static let start = Instant(seconds: 1_800_000_000)

  /// A database as the serving role sees it.
  static func withStore(
    _ body: @escaping @Sendable (Database, EventLoopGroup, BrokerDatabase) async throws -> Void
  ) async throws {
    try await BrokerDatabase.with { prepared in
      try await withLoops { group in
        let database = try Database(
          try DatabaseConfiguration(prepared.servingURL), group: group,
          log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        await database.waitUntilReady()
        let result: Result<Void, any Error>
        do { result = .success(try await body(database, group, prepared)) } catch { result = .failure(error) }
        await database.shutDown()
        try result.get()
      }
    }
  }

  @Test("The serving role can add to the audit, and neither change nor remove what is there")
  func appendOnly() async throws {
    try await Self.withStore { database, group, prepared in
      let record = IssuanceRecord(
        at: Self.start, subject: SubjectHash(bytes: Array(0..<32)), audience: "web", capability: "default", address: "192.0.2.1",
        requestID: "r", outcome: .issued)
      let store = IssuanceStore(database, loops: group.loops)
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for _ in 0..<300 { tasks.addTask { try await store.add(record) } }
        try await tasks.waitForAll()
      }
      #expect(try await prepared.value("select count(*) from auth.token_issuance", as: Int.self) == 300)
      #expect(try await prepared.value("select expires_at is null from auth.token_issuance limit 1", as: Bool.self) == true)
      for query: Query in [
        "update auth.token_issuance set reason = ''", "delete from auth.token_issuance", "truncate auth.token_issuance",
        "update auth.subject_salt set salt = salt",
      ] {
        let error = await #expect(throws: DatabaseError.self) { try await database.execute(query) }
        #expect(error?.code == .permissionDenied)
      }
      #expect(try await SubjectSaltStore(database).salt().count == 32)
    }
  }

  @Test("Whoever has asked for the account's deletion has no bucket any more, whichever copy remembers one (PF-10)")
  func gone() async throws {
    try await Self.withStore { database, group, prepared in
      let rate = BucketRate(perMinute: 60, burst: 4)
      let (ana, ben) = (UUID(high: 1, low: 1), UUID(high: 1, low: 2))
      let store = RateLimitStore.auth(database, loops: group.loops)
      let now = Self.start
      for person in [ana, ben] {
        for _ in 0..<3 { _ = try await store.takeFromMemory("account:\(person)", rate, at: now) }
      }
      func keys() async throws -> [String] { try await prepared.values("select key from auth.rate_limit order by key") }
      #expect(try await keys() == ["account:\(ana)", "account:\(ben)"])
      try await prepared.script(
        """
        insert into auth.account_work (user_id, id, app, kind, idempotency_key, created_at)
        values ('\(ana)', gen_random_uuid(), 'default', 'deletion', '', now()), ('\(ben)', gen_random_uuid(), 'default', 'export', '', now());
        delete from auth.rate_limit;
        """)
      for copy in [store, RateLimitStore.auth(database, loops: group.loops)] {
        for person in [ana, ben] { _ = try await copy.take("account:\(person)", rate, at: now) }
        for _ in 0..<4 { _ = try await copy.takeFromMemory("account:\(ana)", rate, at: now) }
      }
      #expect(try await keys() == ["account:\(ben)"])
    }
  }
}
