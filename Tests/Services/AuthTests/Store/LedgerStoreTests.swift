import AuthDomain
import AuthStore
import EventLoop
import Logging
import PostgreSQL
import Testing
import Values

extension LimitStoreTests {
  private static func record(_ user: UInt8, _ capability: String = "speech", at now: Instant = start) -> IssuanceRecord {
    IssuanceRecord(
      at: now, subject: SubjectHash(bytes: [user] + Array(1..<32)), audience: "web", capability: capability, account: "a@p.iam",
      scope: "s", expiresAt: now.advanced(by: .seconds(900)), address: "192.0.2.1", requestID: "r", outcome: .issued)
  }

  @Test("AUTH-B1: caps count like a model: by user, capability and day, whoever asks and however many at once")
  func capModel() async throws {
    try await Self.withStore { database, group, prepared in
      // Two copies, each with a memory of its own.
      let stores = (0..<2).map { _ in IssuanceStore(database, loops: group.loops) }
      var expected: [String: Int] = [:]
      for day in 0..<2 {
        for (user, capability, cap, asked) in [
          (UInt8(1), "speech", 4, 9), (2, "speech", 4, 3), (1, "gemini", 0, 5), (3, "speech", 1, 6), (1, "speech", 6, 4),
        ] {
          let now = Self.start.advanced(by: .seconds(86_400 * Int64(day)))
          let issued = try await withThrowingTaskGroup(of: IssuanceDecision.self) { tasks in
            for number in 0..<asked {
              tasks.addTask(executorPreference: group.loops[number % group.loops.count]) {
                try await stores[number % 2].issue(Self.record(user, capability, at: now), perDay: cap == 0 ? nil : cap)
              }
            }
            return try await tasks.reduce(into: 0) { $0 += $1 == .issued ? 1 : 0 }
          }
          let key = "\(user)\(capability)\(day)"
          let before = expected[key] ?? 0
          let grants = cap == 0 ? asked : max(0, min(asked, cap - before))
          expected[key] = before + grants
          #expect(issued == grants, "\(key), cap \(cap), \(before) before")
        }
      }
      let counted = try await prepared.value("select sum(issued)::bigint from auth.capability_use", as: Int.self)
      let rows = try await prepared.value(
        "select count(*) from auth.token_issuance where outcome = 'issued' and reason = '' and expires_at is not null",
        as: Int.self)
      #expect(counted == expected.values.reduce(0, +) && rows == counted)
      let denied = try await prepared.value(
        "select count(*) from auth.token_issuance where outcome = 'denied' and reason = 'CAP_REACHED' and expires_at is null",
        as: Int.self)
      #expect(denied == 2 * 27 - expected.values.reduce(0, +))
    }
  }

  @Test("AUTH-B1: a reached cap is remembered until the day ends, not a microsecond longer")
  func rememberedUntilMidnight() async throws {
    try await Self.withStore { database, group, _ in
      let store = IssuanceStore(database, loops: group.loops)
      let record = Self.record(1)
      let first = try await store.issue(record, perDay: 1)
      #expect(first == .issued)
      #expect(!store.isCapped(record.subject, "speech", at: record.at))
      let second = try await store.issue(record, perDay: 1)
      #expect(second == .capReached)
      let end = record.at.nextDay
      #expect(end.microseconds % 86_400_000_000 == 0 && end > record.at)
      #expect(store.isCapped(record.subject, "speech", at: Instant(microseconds: end.microseconds - 1)))
      #expect(!store.isCapped(record.subject, "speech", at: end))
      #expect(!store.isCapped(record.subject, "gemini", at: record.at))
    }
  }

  @Test("AUTH-B1: what is stopped is not counted, is on record as denied, and may be had again once it is resumed")
  func stopped() async throws {
    try await Self.withStore { database, group, prepared in
      let store = IssuanceStore(database, loops: group.loops)
      let switches = KillSwitchStore(database)
      func turn(_ capability: String, _ isStopped: Bool, _ reason: String = "x", by name: String = "op") async throws
        -> KillSwitch
      {
        try await switches.set(
          KillSwitch(capability: capability, isStopped: isStopped, reason: reason, changedAt: Self.start, changedBy: name))
      }
      for (capability, others) in [("speech", IssuanceDecision.issued), ("*", .stopped)] {
        _ = try await turn(capability, true)
        #expect(try await store.issue(Self.record(1), perDay: 5) == .stopped)
        #expect(try await store.issue(Self.record(1, "gemini"), perDay: 5) == others)
        _ = try await turn(capability, false)
        #expect(try await store.issue(Self.record(1), perDay: 5) == .issued)
      }
      let speech = try await prepared.value(
        "select issued::bigint from auth.capability_use where capability = 'speech'", as: Int.self)
      #expect(speech == 2)
      // The same again, for the same reason, changes nothing: neither who nor how often.
      #expect(try await turn("speech", false, by: "another").changedBy == "op")
      #expect(try await turn("speech", false, "y", by: "another").changedBy == "another")
      #expect(try await switches.all().map(\.capability) == ["*", "speech"])
      #expect(try await prepared.value("select count(*) from auth.kill_switch_change", as: Int.self) == 5)
    }
  }

  @Test("The serving role can neither change nor remove what operators did")
  func changesStay() async throws {
    try await Self.withStore { database, _, _ in
      for query: Query in [
        "update auth.kill_switch_change set reason = ''", "delete from auth.kill_switch_change", "delete from auth.kill_switch",
        "truncate auth.kill_switch_change",
      ] {
        let error = await #expect(throws: DatabaseError.self) { try await database.execute(query) }
        #expect(error?.code == .permissionDenied)
      }
    }
  }

  @Test("Counts of past days are removed, today's are not")
  func useSweep() async throws {
    try await Self.withStore { database, group, prepared in
      let store = IssuanceStore(database, loops: group.loops)
      for day in 0..<3 {
        for user in 0..<3 {
          let now = Self.start.advanced(by: .seconds(86_400 * Int64(day)))
          _ = try await store.issue(Self.record(UInt8(user), at: now), perDay: 5)
        }
      }
      let removed = try await CapabilityUseSweep(database).remove(before: Self.start.advanced(by: .seconds(86_400)))
      #expect(removed == 3)
      #expect(try await prepared.value("select count(distinct day) from auth.capability_use", as: Int.self) == 2)
    }
  }
}
