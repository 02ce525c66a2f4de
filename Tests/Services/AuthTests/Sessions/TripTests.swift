import AuthDomain
import AuthStore
import PostgreSQL
import TestSupport
import Testing
import Values

@testable import AuthAPI

@Suite("What sign-ins and refreshes cost the database")
struct TripTests {
  private static let start = Instant(seconds: 1_800_000_000)

  /// The round trips of `body`.
  private static func trips(_ database: Database, _ body: () async throws -> Void) async throws -> Int {
    let before = database.statistics.roundTrips
    try await body()
    return database.statistics.roundTrips - before
  }

  @Test("A nonce is one round trip and a sign-in two, of a new account and of a known one (PF-11)")
  func signIn() async throws {
    try await SessionStores.with { stores in
      let database = stores.databases[0]
      _ = try await stores.session(at: Self.start)
      #expect(try await Self.trips(database) { _ = try await stores.session(at: Self.start, user: "bo") } == 3)
      #expect(try await Self.trips(database) { _ = try await stores.session(at: Self.start, user: "bo") } == 3)
    }
  }

  @Test("A refresh is two round trips beside the look-up of its session, and so is the end of one that was reused (PF-11)")
  func refresh() async throws {
    try await SessionStores.with { stores in
      let database = stores.databases[0]
      let first = try await stores.session(at: Self.start)
      _ = try await stores.show(first, attempt: "an attempt, the first", to: 0, at: Self.start)
      let token = try await stores.session(at: Self.start)
      var next: RefreshToken?
      let handingOut = try await Self.trips(database) {
        next = try await stores.show(token, attempt: "an attempt, the second", to: 0, at: Self.start).next
      }
      #expect(handingOut == 3 && next != nil)
      let later = Self.start.advanced(by: .seconds(100))
      let third = try await stores.show(try #require(next), attempt: "an attempt, the third", to: 0, at: later)
      #expect(third.next != nil)
      var action: RefreshState.Action?
      let ending = try await Self.trips(database) {
        action = try await stores.show(token, attempt: "an attempt, the fourth", to: 0, at: later.advanced(by: .seconds(100)))
          .action
      }
      #expect(action == .end(.refreshReused) && ending == 3)
    }
  }
}
