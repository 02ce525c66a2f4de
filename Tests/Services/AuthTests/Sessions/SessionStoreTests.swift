import AuthDomain
import AuthStore
import EventLoop
import JOSE
import PostgreSQL
import Synchronization
import TestRandom
import TestSupport
import Testing
import Values

@testable import AuthAPI

@Suite("Sessions in the database", .serialized)
struct SessionStoreTests {
  private static let start = Instant(seconds: 1_800_000_000)

  // MARK: Refresh

  @Test(
    "AUTH-M2: through three copies of the store on one database, too, an honest app never loses its session",
    arguments: [RefreshPropertyTests.seed])
  func interleavings(seed: UInt64) async throws {
    // Through whole instances of the service many more are played: see InstancePropertyTests.
    let wanted = 4000
    try await SessionStores.with { stores in
      let end = MonotonicInstant.now().advanced(by: .seconds(6))
      let steps = StepCount()
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for lane in 0..<8 {
          tasks.addTask(executorPreference: stores.group.loops[lane % 2]) {
            var number = UInt64(lane)
            while steps.value < wanted, MonotonicInstant.now() < end {
              let outcome = try await Self.play(seed: seed &+ number, on: stores)
              steps.add(outcome.steps)
              if let violation = outcome.violation { Issue.record("seed \(seed), interleaving \(number): \(violation)") }
              number += 8
            }
          }
        }
        try await tasks.waitForAll()
      }
      let done = steps.value
      print("refresh property in the database: seed \(seed), \(done) steps")
      #expect(done >= 100)
    }
  }

  private static func play(seed: UInt64, on stores: SessionStores) async throws -> (violation: String?, steps: Int) {
    var random = SeededRandom(seed)
    var world = RefreshWorld(hasThief: random.below(2) == 0)
    let rules = RefreshWorld.rules
    var tokens = [0: try await stores.session(at: Instant(microseconds: world.now), rules: rules, user: "u\(seed % 100)")]
    let owner: UUID? = try await stores.databases[0].reads.value(
      "select user_id from auth.session_lookup where session_id = \(UUID(high: tokens[0]!.session.high, low: tokens[0]!.session.low))"
    )
    var steps = 0
    func show(_ generation: Int, _ attempt: UInt64, _ now: Int64, _ copy: Int) async throws -> RefreshWorld.Answer {
      guard let token = tokens[generation] else { throw TestFailure("a token that nobody was given") }
      let (action, next) = try await stores.show(
        token, attempt: attempt == 0 ? "" : "attempt-\(attempt)", to: copy, at: Instant(microseconds: now), rules: rules)
      if let next {
        if let known = tokens[Int(next.generation)], known != next { throw TestFailure("one generation has two tokens") }
        tokens[Int(next.generation)] = next
      }
      switch action {
      case .handOut(let generation): return .token(generation: Int(generation), isRepeated: false)
      case .repeatAnswer(let generation): return .token(generation: Int(generation), isRepeated: true)
      case .race: return .raced
      case .end(let cause), .ended(let cause): return .ended(cause)
      case .unknown: return .unknown
      }
    }
    var isRevoked = false
    for _ in 0..<32 {
      steps += 1
      switch world.next(&random) {
      case .show(let generation, let attempt, let actor):
        let answer = try await show(generation, attempt, world.now, random.below(3))
        world.accept(answer, to: generation, by: actor)
      case .revoke:
        let wasRevoked = isRevoked
        isRevoked = true
        let ended = try await stores.stores[random.below(3)].end(
          .one(tokens[0]!.session), of: UserID(high: owner!.high, low: owner!.low), .revoked,
          at: Instant(microseconds: world.now),
          for: SessionStores.client)
        if ended.isEmpty, !wasRevoked { return ("a session that could not be ended", steps) }
      case .rotateKeys, .pause: break
      }
      if world.isOver || world.violation != nil { break }
    }
    if world.mustLive {
      let generation = world.wakeUp()
      guard case .token = try await show(generation, 0, world.now, 0) else { return ("the honest app cannot go on", steps) }
    }
    return (world.violation, steps)
  }

  @Test("AUTH-M2: of 100 refreshes of one token at once one gets the next token, and the session lives on")
  func hundredAtOnce() async throws {
    try await SessionStores.with { stores in
      let token = try await stores.session(at: Self.start)
      let answers = try await withThrowingTaskGroup(of: (RefreshState.Action, RefreshToken?).self) { tasks in
        for number in 0..<100 {
          tasks.addTask(executorPreference: stores.group.loops[number % 2]) {
            try await stores.show(token, attempt: "attempt \(number)", to: number % 3, at: Self.start)
          }
        }
        return try await tasks.reduce(into: []) { $0.append($1) }
      }
      #expect(answers.count { $0.0 == .handOut(generation: 1) } == 1)
      #expect(answers.count { if case .race = $0.0 { true } else { false } } == 99)
      let next = try #require(answers.compactMap(\.1).first)
      let after = try await stores.show(next, attempt: "later", to: 1, at: Self.start.advanced(by: .seconds(1)))
      #expect(after.action == .handOut(generation: 2))
    }
  }

  @Test("AUTH-M2: of 100 requests of one attempt at once all get the same token")
  func oneAttempt() async throws {
    try await SessionStores.with { stores in
      let token = try await stores.session(at: Self.start)
      let answers = try await withThrowingTaskGroup(of: RefreshToken?.self) { tasks in
        for number in 0..<100 {
          tasks.addTask { try await stores.show(token, attempt: "the one", to: number % 3, at: Self.start).next }
        }
        return try await tasks.reduce(into: Set<RefreshToken?>()) { $0.insert($1) }
      }
      #expect(answers.count == 1 && answers.first??.generation == 1)
    }
  }

  @Test("AUTH-M2: reuse ends the session, feeds the revocation and notes both in one commit")
  func reuse() async throws {
    try await SessionStores.with { stores in
      let first = try await stores.session(at: Self.start)
      let second = try #require(try await stores.show(first, attempt: "", to: 0, at: Self.start).next)
      _ = try await stores.show(second, attempt: "", to: 1, at: Self.start)
      // The feed cannot take it, so nothing is done.
      try await stores.prepared.script("alter table auth.revocation rename to revocation_away")
      await #expect(throws: DatabaseError.self) { try await stores.show(first, attempt: "", to: 2, at: Self.start) }
      #expect(try await stores.stores[0].alive([first.session], at: Self.start) == [first.session])
      try await stores.prepared.script("alter table auth.revocation_away rename to revocation")
      #expect(try await stores.show(first, attempt: "", to: 2, at: Self.start).action == .end(.refreshReused))
      #expect(try await stores.stores[0].alive([first.session], at: Self.start) == [])
      let page = try await RevocationStore(stores.databases[1]).page(after: .start, at: Self.start)
      #expect(
        page.sessions == [
          EndedSession(id: first.session, cause: .refreshReused, mattersUntil: Self.start.advanced(by: .seconds(600)))
        ])
      let notes: [String] = try await stores.prepared.values(
        "select action || '|' || outcome || '|' || reason from auth.activity order by 1")
      #expect(
        notes == ["refresh_refused|refused|REFRESH_REUSED", "session_ended|done|REFRESH_REUSED", "signed_in|done|"])
    }
  }

  @Test("AUTH-M2: every proper prefix of a refresh token is refused, and so is every token with one character changed")
  func prefixes() throws {
    let tokens = RefreshTokens(pepper: [UInt8](repeating: 7, count: 32))
    let token = tokens.successor(
      of: tokens.first(of: SessionID(high: 1, low: 2)), attempt: "an attempt of mine", generation: 258)
    let text = token.text
    #expect(text.utf8.count == RefreshToken.characterCount && text.hasPrefix("prt1_"))
    #expect(tokens.read(text) == token)
    for length in 0..<text.count { #expect(tokens.read(String(text.prefix(length))) == nil, "\(length) characters") }
    for place in text.indices {
      for other in ["A", "z", "_", "=", "é"] where String(text[place]) != other {
        #expect(tokens.read(text.replacingCharacters(at: place, with: other)) == nil)
      }
    }
    for more in ["A", "=", " ", "\n"] { #expect(tokens.read(text + more) == nil && tokens.read(more + text) == nil) }
    #expect(RefreshTokens(pepper: [UInt8](repeating: 8, count: 32)).read(text) == nil)
    #expect(!"\(token)".contains(Base64URL.encode(token.key)))
  }

  // MARK: The feed

  @Test("AUTH-M4: a reader that follows the feed while many sessions end at once misses none")
  func gapless() async throws {
    try await SessionStores.with { stores in
      var sessions: [(SessionID, UserID)] = []
      for number in 0..<120 {
        let token = try await stores.session(at: Self.start, user: "u\(number % 40)")
        let owner: UUID? = try await stores.databases[0].reads.value(
          "select user_id from auth.session_lookup where session_id = \(UUID(high: token.session.high, low: token.session.low))")
        sessions.append((token.session, UserID(high: owner?.high ?? 0, low: owner?.low ?? 0)))
      }
      let all = sessions
      let reader = Task(executorPreference: stores.group.loops[1]) { () async throws -> Set<SessionID> in
        let feed = RevocationStore(stores.databases[2])
        var (seen, position): (Set<SessionID>, RevocationStore.Position) = ([], .start)
        let end = MonotonicInstant.now().advanced(by: .seconds(60))
        while seen.count < all.count, MonotonicInstant.now() < end {
          let page = try await feed.page(after: position, at: Self.start, limit: 7)
          for session in page.sessions { seen.insert(session.id) }
          position = page.position
        }
        return seen
      }
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for (number, session) in all.enumerated() {
          tasks.addTask(executorPreference: stores.group.loops[number % 2]) {
            _ = try await stores.stores[number % 3].end(
              .one(session.0), of: session.1, .signedOut, at: Self.start, for: SessionStores.client)
          }
        }
        try await tasks.waitForAll()
      }
      #expect(try await reader.value == Set(all.map(\.0)))
    }
  }

  @Test("A reader whose cursor lies beyond the feed starts again")
  func restored() async throws {
    try await SessionStores.with { stores in
      let feed = RevocationStore(stores.databases[0])
      for cursor in [0, 99, -1] as [Int64] {
        let position = try await feed.position(cursor)
        #expect(position == .start)
      }
    }
  }

  // MARK: What has run out

  @Test("AUTH-S4: what has run out is removed in batches, and nothing else")
  func sweep() async throws {
    try await SessionStores.with { stores in
      let sweep = AccountSweep(stores.databases[0])
      try await stores.prepared.script(
        """
        insert into auth.nonce select sha256(n::text::bytea), 'default', 'google',
          to_timestamp(1800000000) + (n - 1100) * interval '1 second' from generate_series(1, 1200) as n;
        insert into auth.exchanged_token select sha256(n::text::bytea),
          to_timestamp(1800000000) + (n - 1100) * interval '1 second' from generate_series(1, 1200) as n;
        insert into auth.revocation (session_id, cause, matters_until) select gen_random_uuid(), 'revoked',
          to_timestamp(1800000000) + (n - 1100) * interval '1 second' from generate_series(1, 1200) as n;
        """)
      #expect(try await sweep.removeNonces(expiredBefore: Self.start) == 1099)
      #expect(try await sweep.removeExchangedTokens(expiredBefore: Self.start) == 1099)
      #expect(try await sweep.removeRevocations(irrelevantBefore: Self.start) == 1099)
      let token = try await stores.session(at: Self.start)
      let other = try await stores.session(at: Self.start.advanced(by: .seconds(1)))
      let idle = Self.start.advanced(by: RefreshRules().idleLifetime)
      #expect(try await sweep.removeSessions(overBefore: idle) == 0)
      #expect(try await sweep.removeSessions(overBefore: idle.advanced(by: .microseconds(1))) == 1)
      #expect(try await stores.show(token, attempt: "", to: 0, at: Self.start).action == .unknown)
      #expect(
        try await stores.show(other, attempt: "", to: 0, at: Self.start.advanced(by: .seconds(1))).action
          == .handOut(generation: 1))
    }
  }
}

/// Steps of all lanes.
private final class StepCount: Sendable {
  private let count = Atomic(0)

  var value: Int { count.load(ordering: .relaxed) }

  func add(_ steps: Int) { count.add(steps, ordering: .relaxed) }
}

extension String {
  func replacingCharacters(at place: Index, with other: String) -> String {
    String(self[..<place]) + other + String(self[index(after: place)...])
  }
}
