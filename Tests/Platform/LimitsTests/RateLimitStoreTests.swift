import EventLoop
import Limits
import PostgreSQL
import TestSupport
import Testing
import Values

@Suite("Limits in the database", .serialized)
struct RateLimitStoreTests {
  private static let limit = BucketRate(perMinute: 60, burst: 30)
  private static let start = Instant(seconds: 1_800_000_000)

  /// A schema with buckets, as the serving role sees it.
  private static func withStore(
    _ change: (inout DatabaseConfiguration) -> Void = { $0.clockLead = nil },
    _ body: @escaping @Sendable (Database, EventLoopGroup) async throws -> Void
  ) async throws {
    try await TestDatabase.with(loops: 2) { prepared in
      let url = try await prepared.prepare(
        "limited",
        [
          Migration(1, "create_rate_limits", RateLimitMigration.create(schema: "limited", role: "parley_limited")),
          Migration(2, "note_commits", Self.noting), Migration(3, "know_who_is_gone", Self.departing),
        ])
      var configuration = try DatabaseConfiguration(url)
      change(&configuration)
      let database = try Database(configuration, group: prepared.group, log: prepared.log)
      await database.waitUntilReady()
      let result: Result<Void, any Error>
      do { result = .success(try await body(database, prepared.group)) } catch { result = .failure(error) }
      await database.shutDown()
      try result.get()
    }
  }

  /// Notes how each transaction that touches a bucket is going to commit.
  private static let noting = """
    create table limited.note (setting text not null);
    create function limited.note() returns trigger language plpgsql as $$
    begin
      insert into limited.note values (current_setting('synchronous_commit'));
      return null;
    end $$;
    create trigger note after insert or update on limited.rate_limit for each statement execute function limited.note();
    """

  /// Who has no account any more.
  private static let departing = """
    create table limited.gone (id uuid primary key);
    create table limited.note_of_call (text text not null);
    grant select, insert, delete on limited.gone, limited.note_of_call to parley_limited;
    """

  private static func store(_ database: Database, _ group: EventLoopGroup) -> RateLimitStore {
    RateLimitStore(schema: "limited", database, loops: group.loops)
  }

  @Test("B-16: of 40 takes at once exactly 30 pass, and the refused ones end when a token is back")
  func burst() async throws {
    try await Self.withStore { database, group in
      let store = Self.store(database, group)
      let decisions = try await withThrowingTaskGroup(of: BucketAnswer.self) { tasks in
        for number in 0..<40 {
          tasks.addTask(executorPreference: group.loops[number % 2]) {
            try await store.take("a", Self.limit, at: Self.start)
          }
        }
        return try await tasks.reduce(into: []) { $0.append($1) }
      }
      #expect(decisions.count { $0.isAllowed } == 30)
      let refused = try #require(decisions.first { !$0.isAllowed })
      let until = try #require(refused.refusedUntil)
      #expect(until > Self.start && until.duration(since: Self.start) <= .seconds(1))
      // However they were gathered: each number of tokens left was told once, and the bucket is full again in half a minute.
      #expect(decisions.filter(\.isAllowed).map(\.remaining).sorted() == Array(0..<30))
      #expect(refused.remaining == 0 && refused.fullAt.duration(since: Self.start) <= .seconds(30))
    }
  }

  @Test("B-19: two copies share a bucket, and a third that starts later finds it as it was left")
  func shared() async throws {
    try await Self.withStore { database, group in
      let copies = [Self.store(database, group), Self.store(database, group)]
      for number in 0..<30 {
        do {
          let decision = try await copies[number % 2].take("a", Self.limit, at: Self.start)
          #expect(decision.isAllowed)
        }
      }
      for copy in copies + [Self.store(database, group)] {
        do {
          let decision = try await copy.take("a", Self.limit, at: Self.start)
          #expect(!decision.isAllowed)
        }
        do {
          let decision = try await copy.take("b", Self.limit, at: Self.start)
          #expect(decision.isAllowed)
        }
      }
    }
  }

  @Test("A flood of refused takes asks the database once until a token is back")
  func remembered() async throws {
    try await Self.withStore { database, group in
      let store = Self.store(database, group)
      for _ in 0..<30 { _ = try await store.take("a", Self.limit, at: Self.start) }
      for _ in 0..<1000 { _ = try await store.take("a", Self.limit, at: Self.start) }
      #expect(store.questionCount == 31)
      do {
        let decision = try await store.take("a", Self.limit, at: Self.start.advanced(by: .seconds(1)))
        #expect(decision.isAllowed)
      }
    }
  }

  @Test("The statement does the sums of the model", arguments: [UInt64.random(in: 0...UInt64.max)])
  func model(seed: UInt64) async throws {
    try await Self.withStore { database, group in
      var random = seed
      func next(_ bound: Int) -> Int {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(random >> 33) % bound
      }
      for round in 0..<5 {
        let limit = BucketRate(perMinute: 1 + next(200), burst: 1 + next(20))
        var model: TokenBucket?
        var now = Self.start
        for step in 0..<60 {
          now = now.advanced(by: .milliseconds(next(900) - 100))
          // A store of its own for each take, so that nothing is remembered.
          let decision = try await Self.store(database, group).take("m\(round)", limit, at: now)
          var bucket = model ?? TokenBucket(full: limit, at: now)
          let taken = bucket.take(1, of: limit, at: now)
          model = bucket
          #expect(decision.isAllowed == (taken == 1), "seed \(seed), round \(round), step \(step), \(limit)")
        }
      }
    }
  }

  @Test("B-18: buckets idle for 30 minutes are removed, those refused since are not")
  func sweep() async throws {
    try await Self.withStore { database, group in
      let store = Self.store(database, group)
      for number in 0..<1100 { _ = try await store.take("idle\(number)", Self.limit, at: Self.start) }
      let once = BucketRate(perMinute: 1, burst: 1)
      _ = try await store.take("busy", once, at: Self.start)
      let later = Self.start.advanced(by: .seconds(20))
      _ = try await Self.store(database, group).take("busy", once, at: later)
      #expect(
        try await RateLimitSweep(schema: "limited", database).remove(idleFor: .seconds(1), at: later.advanced(by: .seconds(1)))
          == 1100)
      #expect(try await database.value("select key from limited.rate_limit", as: String.self) == "busy")
    }
  }

  @Test(
    "A copy whose clock is a year ahead leaves no bucket that others find empty for a year, and gets no more than they do (PF-03)"
  )
  func clockAhead() async throws {
    try await Self.withStore({ _ in }) { database, group in
      let now: Instant = try #require(try await database.value("select clock_timestamp()"))
      let year = Duration.seconds(365 * 86_400)
      var passed = 0
      for _ in 0..<100 where try await Self.store(database, group).take("a", Self.limit, at: now.advanced(by: year)).isAllowed {
        passed += 1
      }
      // What comes back meanwhile by the database's clock is a token a second.
      let elapsed = try await database.value("select clock_timestamp()", as: Instant.self)?.duration(since: now) ?? .zero
      #expect(passed >= 30 && passed <= 31 + Int(elapsed / .seconds(1)), "\(passed) of a burst of 30")
      let touched: Instant = try #require(try await database.value("select touched_at from limited.rate_limit"))
      #expect(touched < now.advanced(by: .seconds(3_600)))
    }
  }

  @Test("A bucket left by a clock that was ahead refills all the same, and a sweep by such a clock removes none in use (PF-03)")
  func heals() async throws {
    try await Self.withStore({ _ in }) { database, group in
      try await database.execute(
        """
        insert into limited.rate_limit (key, tokens, touched_at, asked, granted)
        values ('a', 0, now() + interval '1 year', 1, 0), ('b', 0, now(), 1, 0)
        """)
      let now: Instant = try #require(try await database.value("select clock_timestamp()"))
      #expect(try await !Self.store(database, group).take("a", Self.limit, at: now).isAllowed)
      let touched: Instant = try #require(try await database.value("select touched_at from limited.rate_limit where key = 'a'"))
      #expect(touched < now.advanced(by: .seconds(3_600)))
      let sweep = RateLimitSweep(schema: "limited", database)
      #expect(try await sweep.remove(idleFor: .seconds(86_400), at: now.advanced(by: .seconds(365 * 86_400))) == 0)
    }
  }

  @Test("Takes wait for no disk: their commits are not flushed, and everything else's are (PF-10)")
  func unflushed() async throws {
    try await Self.withStore({
      $0.clockLead = nil
      $0.poolSize = 1
    }) { database, group in
      // The test's server has it off for all, to be quick: here it is as in production.
      try await database.execute("select set_config('synchronous_commit', 'on', false)")
      let own: String? = try await database.value("select current_setting('synchronous_commit')")
      #expect(own == "on")
      let relaxed: String? = try await database.relaxed.value("select current_setting('synchronous_commit')")
      #expect(relaxed == "off")
      // The next transaction of the same connection is as it was.
      #expect(try await database.value("select current_setting('synchronous_commit')") == own)
      _ = try await Self.store(database, group).take("a", Self.limit, at: Self.start)
      let noted: [String] = try await database.rows("select distinct setting from limited.note")
      #expect(noted == ["off"])
    }
  }

  @Test("A limit that fails open asks the database only when half the burst is gone, and admits exactly the burst (PF-10)")
  func fromMemory() async throws {
    try await Self.withStore { database, group in
      let store = Self.store(database, group)
      var remaining: [Int] = []
      for _ in 0..<15 { remaining.append(try await store.takeFromMemory("a", Self.limit, at: Self.start).remaining) }
      #expect(store.questionCount == 0 && remaining == Array((15..<30).reversed()))
      for _ in 0..<15 { remaining.append(try await store.takeFromMemory("a", Self.limit, at: Self.start).remaining) }
      #expect(store.questionCount == 15 && remaining == Array((0..<30).reversed()))
      let refused = try await store.takeFromMemory("a", Self.limit, at: Self.start)
      #expect(!refused.isAllowed)
      // The database knows of all thirty.
      #expect(try await !Self.store(database, group).take("a", Self.limit, at: Self.start).isAllowed)
      // Half a minute later the bucket is full, here and there, and nothing is told that has flown back.
      let later = Self.start.advanced(by: .seconds(30))
      let before = store.questionCount
      #expect(try await store.takeFromMemory("a", Self.limit, at: later).isAllowed)
      #expect(try await store.takeFromMemory("a", Self.limit, at: later.advanced(by: .seconds(1))).remaining == 29)
      #expect(store.questionCount == before)
    }
  }

  @Test("What travels with a take that is refused does nothing, and of many takes at once each has its own or none (PF-10)")
  func travelling() async throws {
    try await Self.withStore { database, group in
      let store = Self.store(database, group)
      let rate = BucketRate(perMinute: 60, burst: 10)
      let answers = try await withThrowingTaskGroup(of: (Int, Bool, Int?).self) { tasks in
        for number in 0..<40 {
          tasks.addTask(executorPreference: group.loops[number % 2]) {
            let take = store.prepare("a", rate, at: Self.start)
            let (answer, results) = try await take.send(durably: number % 3 == 0) { isGranted in
              [
                "insert into limited.note_of_call select \("call \(number)") where \(part: isGranted)",
                "select \(number)::bigint where \(part: isGranted)",
              ]
            }
            return (number, answer.isAllowed, answer.isAllowed ? try results.value(of: 1, as: Int.self) : nil)
          }
        }
        return try await tasks.reduce(into: []) { $0.append($1) }
      }
      let passed = answers.filter { $0.1 }
      #expect(passed.count == 10 && passed.allSatisfy { $0.2 == $0.0 })
      let written: [String] = try await database.rows("select text from limited.note_of_call")
      #expect(Set(written) == Set(passed.map { "call \($0.0)" }) && written.count == 10)
    }
  }

  @Test(
    "A take that travels with a transaction of somebody else's is rolled back with it, and is seen by what follows it (PF-10)"
  )
  func carried() async throws {
    try await Self.withStore { database, group in
      let store = Self.store(database, group)
      let once = BucketRate(perMinute: 1, burst: 1)
      for passes in [true, true, false] {
        let buckets = BucketTakes([store.prepare("a", once, at: Self.start)])
        _ = try? await database.transaction { transaction in
          let found = try await transaction.batch { batch in
            batch.add(buckets.statement)
            batch.add("select 7 where \(part: buckets.isGranted(0))")
          }
          #expect(try buckets.answers(found.results[0])[0].isAllowed == passes)
          #expect(try found.value(of: 1, as: Int32.self) == (passes ? 7 : nil))
          // The first time it comes to nothing.
          let rows: Int64? = try await transaction.value("select count(*) from limited.note_of_call")
          guard rows ?? 0 > 0 else { throw DatabaseError(.queryFailed, "not yet") }
        }
        try await database.execute("insert into limited.note_of_call values ('once more')")
      }
      // And is known from here on.
      #expect(store.prepare("a", once, at: Self.start).refusal?.isAllowed == false)
    }
  }

  @Test(
    "Once an account is gone no bucket bears its name again, whichever copy remembers one, and others are counted as ever (PF-10)"
  )
  func gone() async throws {
    try await Self.withStore { database, group in
      let (ana, ben) = (UUID.v7(at: Self.start), UUID.v7(at: Self.start.advanced(by: .seconds(1))))
      let copies = (0..<3).map { _ in
        RateLimitStore(schema: "limited", database, loops: group.loops) { person in
          "exists (select from limited.gone where gone.id = \(part: person))"
        }
      }
      func key(_ person: UUID) -> String { "account:\(person)" }
      // One copy that the database has heard of, one that has all in memory, and one that knows nothing.
      for _ in 0..<20 { _ = try await copies[0].takeFromMemory(key(ana), Self.limit, at: Self.start) }
      for _ in 0..<15 { _ = try await copies[1].takeFromMemory(key(ana), Self.limit, at: Self.start) }
      func buckets(_ person: UUID) async throws -> Int64? {
        try await database.value("select count(*) from limited.rate_limit where key = \(key(person))")
      }
      #expect(try await buckets(ana) == 1)
      try await database.execute("insert into limited.gone values (\(ana))")
      #expect(try await RateLimitSweep(schema: "limited", database).removeAll(of: ana) == 1)
      for copy in copies {
        for _ in 0..<40 {
          let answer = try await copy.takeFromMemory(key(ana), Self.limit, at: Self.start)
          #expect(answer.isAllowed, "the call itself turns them away")
        }
        #expect(try await copy.take(key(ana), Self.limit, at: Self.start).isAllowed)
      }
      #expect(try await buckets(ana) == 0)
      // A bucket that bears no person's name, and another person's.
      for name in [key(ben), "ip:192.0.2.1", "account:ben"] {
        var passed = 0
        for _ in 0..<40 where try await copies[0].takeFromMemory(name, Self.limit, at: Self.start).isAllowed { passed += 1 }
        #expect(passed == 30, "\(name)")
      }
      #expect(try await buckets(ben) == 1)
    }
  }
}
