import AuthDomain
import AuthStore
import EventLoop
import Logging
import PostgreSQL
import Testing

@Suite("Limits in the database", .serialized)
struct LimitStoreTests {
  private static let limit = RateLimit(perMinute: 60, burst: 30)
  static let start = Moment(seconds: 1_800_000_000)

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

  @Test("B-16: of 40 takes at once exactly 30 pass, and the refused ones end when a token is back")
  func burst() async throws {
    try await Self.withStore { database, group, _ in
      let store = RateLimitStore(database, loops: group.loops)
      let decisions = try await withThrowingTaskGroup(of: LimitDecision.self) { tasks in
        for number in 0..<40 {
          tasks.addTask(executorPreference: group.loops[number % 2]) {
            try await store.take(.address("a"), Self.limit, at: Self.start)
          }
        }
        return try await tasks.reduce(into: []) { $0.append($1) }
      }
      #expect(decisions.count { $0 == .allowed } == 30)
      let refused = try #require(decisions.first { $0 != .allowed })
      guard case .refused(let until) = refused else { return }
      #expect(RetryAfter.seconds(until: until, from: Self.start) == 1)
    }
  }

  @Test("B-19: two copies share a bucket, and a third that starts later finds it as it was left")
  func shared() async throws {
    try await Self.withStore { database, group, _ in
      let copies = [RateLimitStore(database, loops: group.loops), RateLimitStore(database, loops: group.loops)]
      for number in 0..<30 {
        do {
          let decision = try await copies[number % 2].take(.address("a"), Self.limit, at: Self.start)
          #expect(decision == .allowed)
        }
      }
      for copy in copies + [RateLimitStore(database, loops: group.loops)] {
        do {
          let decision = try await copy.take(.address("a"), Self.limit, at: Self.start)
          #expect(decision != .allowed)
        }
        do {
          let decision = try await copy.take(.address("b"), Self.limit, at: Self.start)
          #expect(decision == .allowed)
        }
      }
    }
  }

  @Test("A flood of refused takes asks the database once until a token is back")
  func remembered() async throws {
    try await Self.withStore { database, group, _ in
      let store = RateLimitStore(database, loops: group.loops)
      for _ in 0..<30 { _ = try await store.take(.address("a"), Self.limit, at: Self.start) }
      for _ in 0..<1000 { _ = try await store.take(.address("a"), Self.limit, at: Self.start) }
      #expect(store.questionCount == 31)
      do {
        let decision = try await store.take(.address("a"), Self.limit, at: Self.start.advanced(by: .seconds(1)))
        #expect(decision == .allowed)
      }
    }
  }

  @Test("The statement does the sums of the model", arguments: [UInt64.random(in: 0...UInt64.max)])
  func model(seed: UInt64) async throws {
    try await Self.withStore { database, group, _ in
      var random = seed
      func next(_ bound: Int) -> Int {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(random >> 33) % bound
      }
      for round in 0..<5 {
        let limit = RateLimit(perMinute: 1 + next(200), burst: 1 + next(20))
        var model: TokenBucket?
        var now = Self.start
        for step in 0..<60 {
          now = now.advanced(by: .milliseconds(next(900) - 100))
          // A store of its own for each take, so that nothing is remembered.
          let decision = try await RateLimitStore(database, loops: group.loops).take(.address("m\(round)"), limit, at: now)
          var bucket = model ?? TokenBucket(full: limit, at: now)
          let taken = bucket.take(1, of: limit, at: now)
          model = bucket
          #expect((decision == .allowed) == (taken == 1), "seed \(seed), round \(round), step \(step), \(limit)")
        }
      }
    }
  }

  @Test("B-18: buckets idle for 30 minutes are removed, those refused since are not")
  func sweep() async throws {
    try await Self.withStore { database, group, prepared in
      let store = RateLimitStore(database, loops: group.loops)
      for number in 0..<1100 { _ = try await store.take(.address("idle\(number)"), Self.limit, at: Self.start) }
      let once = RateLimit(perMinute: 1, burst: 1)
      _ = try await store.take(.address("busy"), once, at: Self.start)
      let later = Self.start.advanced(by: .seconds(20))
      _ = try await RateLimitStore(database, loops: group.loops).take(.address("busy"), once, at: later)
      #expect(try await RateLimitSweep(database).remove(idleSince: later) == 1100)
      #expect(try await prepared.value("select key from auth.rate_limit", as: String.self) == "ip:busy")
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
}
