import AuthDomain
import AuthStore
import ParleyAPI
import PostgreSQL
import RPC
import Synchronization
import TestSupport
import Testing
import Values

@testable import AuthAPI

@Suite("What refresh tokens are made with", .serialized)
struct RefreshPepperTests {
  private static let attempt = "an attempt of mine"

  @Test("Peppers are replaced while refresh tokens live: none is refused for it, and a lost answer is told again (AF-06)")
  func rotation() async throws {
    try await SignInTests.with(["PARLEY_AUTH_SESSION_PEPPER_PERIOD": "1h"]) { service, database in
      func generations() async throws -> [Int32] {
        try await database.values("select generation from auth.refresh_pepper order by generation")
      }
      let idle = try #require(try await service.signIn("bo").tokens)
      var ana = try #require(try await service.signIn().tokens)
      #expect(try await generations() == [1])
      for round in 1...4 {
        // Its answer is lost, and the pepper is another one when it is asked for again.
        let first = try await service.refresh(ana.refreshToken, attempt: "\(Self.attempt) \(round)")
        service.clock.advance(by: .seconds(1860))
        _ = try await service.signIn("carl")
        service.clock.advance(by: .seconds(1860))
        let again = try await service.refresh(ana.refreshToken, attempt: "\(Self.attempt) \(round)")
        #expect(again.refreshToken == first.refreshToken, "round \(round)")
        ana = again
      }
      let made = try await generations()
      #expect(made.count >= 3 && made.first == 1, "\(made)")
      // A token of the first one, weeks later; who shows it again has a copy.
      service.clock.advance(by: .seconds(20 * 86_400))
      let back = try await service.refresh(idle.refreshToken)
      service.clock.advance(by: .seconds(60))
      _ = try await service.refresh(back.refreshToken)
      service.clock.advance(by: .seconds(60))
      let reused = await ending { () async throws(RPCError) in try await service.refresh(idle.refreshToken) }
      #expect(reused == "UNAUTHENTICATED REFRESH_REUSED")
      // Once no token of theirs can be alive, old ones are forgotten.
      service.clock.advance(by: .seconds(31 * 86_400))
      _ = try await service.signIn("dora")
      #expect(try await !generations().contains(1))
    }
  }

  @Test(
    "In the database a pepper is sealed, and sealed anew with a new key-encryption key, under which live tokens go on (AF-06)")
  func sealing() async throws {
    let (old, new) = ("old:a2V5LWVuY3J5cHRpb24ta2V5LW9mLXRoZS10ZXN0cyE=", "new:" + String(repeating: "QUFB", count: 10) + "QUE=")
    let clock = VirtualClock()
    try await BrokerDatabase.with { database in
      var tokens = SessionTokens()
      let held = Held()
      for keys in [old, "\(new),\(old)", new] {
        let shown = tokens
        try await BrokerFixture.with(database, clock: clock, settings: ["PARLEY_AUTH_KEY_ENCRYPTION_KEY": keys]) { service in
          let next =
            shown.refreshToken.isEmpty
            ? try await service.signIn().tokens ?? .init() : try await service.refresh(shown.refreshToken)
          held.set(next)
          let names: [String] = try await database.values("select distinct sealed_with from auth.refresh_pepper")
          #expect(names == [keys == old ? "old" : "new"])
        }
        tokens = held.tokens
        clock.advance(by: .seconds(60))
      }
      // Whoever has the database alone has no pepper, and a service with another key makes none beside it.
      let columns: [String] = try await database.values(
        "select column_name::text from information_schema.columns where table_name = 'refresh_pepper' and data_type = 'bytea'")
      #expect(columns == ["sealed_pepper"])
      await #expect(throws: (any Error).self) {
        try await BrokerFixture.with(
          database, clock: clock, settings: ["PARLEY_AUTH_KEY_ENCRYPTION_KEY": old]
        ) { _ in }
      }
      let count = try await database.value("select count(*) from auth.refresh_pepper", as: Int64.self)
      #expect(count == 1)
    }
  }

  @Test("The successor for a client that names no attempt does not follow from the token and the pepper (AF-06)")
  func chance() {
    let pepper = [UInt8](repeating: 7, count: 32)
    let token = RefreshTokens(pepper: pepper).first(of: SessionID(high: 1, low: 2))
    let guessed = RefreshTokens(pepper: pepper).successor(of: token, attempt: "", generation: 1)
    let tokens = RefreshTokens(pepper: pepper)
    let made = tokens.successor(of: token, attempt: "", generation: 1)
    #expect(made != guessed && tokens.successor(of: token, attempt: "", generation: 1) == made)
    #expect(RefreshTokens(pepper: pepper).read(made.text) == made)
    let named = tokens.successor(of: token, attempt: Self.attempt, generation: 1)
    #expect(RefreshTokens(pepper: pepper).successor(of: token, attempt: Self.attempt, generation: 1) == named)
  }

  @Test("A pepper is known half an hour before it is used, and an hour longer than its last token lives (AF-06)")
  func plan() throws {
    let plan = PepperPlan(period: .seconds(7200), tokenLifetime: .seconds(86_400))
    let start = Instant(seconds: 1_800_000_000)
    func at(_ seconds: Int64) -> Instant { start.advanced(by: .seconds(seconds)) }
    let first = try #require(plan.next(after: [], at: start))
    #expect(first == PepperTimes(generation: 1, createdAt: start, activatesAt: start))
    #expect(plan.next(after: [first], at: at(5399)) == nil)
    let second = try #require(plan.next(after: [first], at: at(5400)))
    #expect(second == PepperTimes(generation: 2, createdAt: at(5400), activatesAt: at(7200)))
    // Nobody was there to make it in time: it is published ahead all the same.
    #expect(plan.next(after: [first], at: at(90_000))?.activatesAt == at(91_800))
    #expect(plan.active(of: [first, second], at: at(7199)) == first)
    #expect(plan.active(of: [first, second], at: at(7200)) == second)
    #expect(plan.active(of: [], at: start) == nil)
    #expect(plan.expired(of: [first, second], at: at(7200 + 86_400 + 3599)) == [])
    #expect(plan.expired(of: [first, second], at: at(7200 + 86_400 + 3600)) == [1])
    #expect(plan.expired(of: [second], at: at(1_000_000_000)) == [])
  }

  @Test("The serving role seals a pepper anew, and changes nothing else of it (AF-06)")
  func role() async throws {
    try await LimitStoreTests.withStore { database, _, _ in
      for query in [
        "update auth.refresh_pepper set generation = 9", "update auth.refresh_pepper set activates_at = now()",
      ] as [Query] {
        let error = await #expect(throws: DatabaseError.self) { try await database.execute(query) }
        #expect(error?.code == .permissionDenied)
      }
    }
  }

  private final class Held: Sendable {
    private let kept = Mutex(SessionTokens())
    var tokens: SessionTokens { kept.withLock { $0 } }
    func set(_ tokens: SessionTokens) { kept.withLock { $0 = tokens } }
  }
}
