import AuthDomain
import JOSE
import ParleyAPI
import PostgreSQL
import RPC
import ServiceKit
import TestSupport
import Testing

/// What calls ask of the database, by the driver's meter: with all that stands before and behind their handlers.
@Suite("What calls of sign-in and of the broker cost", .serialized)
struct CallCostTests {
  /// Runs a service that counts.
  private static func with(
    _ settings: [String: String] = [:],
    _ body: @escaping @Sendable (BrokerFixture, BrokerDatabase, CallCosts) async throws -> Void
  ) async throws {
    let costs = CallCosts()
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, settings: settings, costs: costs) { try await body($0, database, costs) }
    }
  }

  /// The least that a call has cost: now and then there is something that it waits for with others.
  private static func least(_ calls: [CallCosts.Entry], of method: String) throws -> StatementMeter.Cost {
    let costs = calls.filter { $0.path.hasSuffix("/\(method)") }.map(\.cost)
    let least = costs.min { ($0.roundTrips, $0.flushes, $0.statements) < ($1.roundTrips, $1.flushes, $1.statements) }
    let found = try #require(least, "\(method) was not called")
    print("\(method): \(found.roundTrips) round trips, \(found.statements) statements, \(found.flushes) flushes")
    return found
  }

  @Test(
    "Signing in is one round trip and three, refreshing three, a token of the cloud two; each has one commit that is flushed (PF-10)"
  )
  func aims() async throws {
    try await Self.with { service, _, costs in
      var tokens: [SessionTokens] = []
      for number in 0..<4 { tokens.append(try #require(try await service.signIn("person \(number)").tokens)) }
      let new = costs.take()
      let (nonce, first) = (try Self.least(new, of: "BeginSignIn"), try Self.least(new, of: "SignInWithGoogle"))
      #expect(nonce.roundTrips == 1 && nonce.flushes == 1)
      #expect(first.roundTrips == 3 && first.flushes == 1)

      for _ in 0..<4 { _ = try await service.signIn("person 1") }
      let known = try Self.least(costs.take(), of: "SignInWithGoogle")
      #expect(known.roundTrips == 3 && known.flushes == 1)

      var token = tokens[0].refreshToken
      for _ in 0..<4 { token = try await service.refresh(token).refreshToken }
      let refresh = try Self.least(costs.take(), of: "RefreshSession")
      #expect(refresh.roundTrips == 3 && refresh.flushes == 1)

      for _ in 0..<4 { _ = try await service.exchange(service.idToken()) }
      let exchange = try Self.least(costs.take(), of: "ExchangeToken")
      #expect(exchange.roundTrips == 2 && exchange.flushes == 1)
    }
  }

  @Test("A call that leaves nothing but a count has no commit that is flushed (PF-10)")
  func unflushed() async throws {
    try await Self.with { service, _, costs in
      let tokens = try #require(try await service.signIn().tokens)
      _ = try await service.refresh(tokens.refreshToken, attempt: "an attempt, the first")
      _ = costs.take()
      // Somebody was faster: nothing is handed out, nothing changes.
      let raced = await ending { () async throws(RPCError) in
        try await service.refresh(tokens.refreshToken, attempt: "an attempt, the second")
      }
      #expect(raced == "ABORTED REFRESH_RACED")
      #expect(try Self.least(costs.take(), of: "RefreshSession").flushes == 0)
      let rubbish = await ending { () async throws(RPCError) in try await service.refresh("rubbish") }
      #expect(rubbish == "UNAUTHENTICATED INVALID_REFRESH_TOKEN")
      let refused = try Self.least(costs.take(), of: "RefreshSession")
      #expect(refused.flushes == 0 && refused.roundTrips == 1)
    }
  }

  @Test("What travels with a take that is refused is not done: no nonce, no other token, no line in the ledger (PF-10)")
  func refused() async throws {
    let settings = [
      "PARLEY_AUTH_SIGN_IN_BURST": "4", "PARLEY_AUTH_SIGN_IN_PER_MIN": "1", "PARLEY_AUTH_REFRESH_BURST": "2",
      "PARLEY_AUTH_REFRESH_PER_MIN": "1", "PARLEY_AUTH_RATE_BURST": "3", "PARLEY_AUTH_RATE_PER_MIN": "1",
    ]
    try await Self.with(settings) { service, database, _ in
      let tokens = try #require(try await service.signIn().tokens)
      _ = try await service.nonce()
      // One is used up, one is left; two of four tokens, and the sign-in's own.
      let before: Int64? = try await database.value("select count(*) from auth.nonce")
      _ = try await service.nonce()
      let none = await ending { () async throws(RPCError) in try await service.nonce() }
      #expect(none == "RESOURCE_EXHAUSTED RATE_LIMITED_IP")
      #expect(try await database.value("select count(*) from auth.nonce") == (before ?? 0) + 1)

      var token = tokens.refreshToken
      for _ in 0..<2 { token = try await service.refresh(token).refreshToken }
      func generation() async throws -> Int64? { try await database.value("select generation from auth.session") }
      #expect(try await generation() == 2)
      for _ in 0..<3 {
        let limited = await ending { () async throws(RPCError) in try await service.refresh(token) }
        #expect(limited == "RESOURCE_EXHAUSTED RATE_LIMITED_USER")
      }
      #expect(try await generation() == 2)
      // The token has not been used up by that.
      service.clock.advance(by: .seconds(60))
      _ = try await service.refresh(token)
      #expect(try await generation() == 3)

      for _ in 0..<3 { _ = try await service.exchange(service.idToken()) }
      for _ in 0..<3 {
        let limited = await ending { () async throws(RPCError) in try await service.exchange(service.idToken()) }
        #expect(limited == "RESOURCE_EXHAUSTED RATE_LIMITED_USER")
      }
      #expect(try await database.value("select count(*) from auth.token_issuance", as: Int64.self) == 3)
      #expect(try await database.value("select sum(issued)::int8 from auth.capability_use", as: Int64.self) == 3)
    }
  }

  @Test("Of many calls at once as many pass as there are tokens, and each of those has what travelled with its take (PF-10)")
  func crowd() async throws {
    let settings = [
      "PARLEY_AUTH_SIGN_IN_BURST": "11", "PARLEY_AUTH_SIGN_IN_PER_MIN": "1", "PARLEY_AUTH_RATE_BURST": "11",
      "PARLEY_AUTH_RATE_PER_MIN": "1",
    ]
    try await Self.with(settings) { service, database, _ in
      // The cloud's token is at hand from here on.
      _ = try await service.exchange(service.idToken())
      _ = try await service.nonce()
      let token = service.idToken()
      let endings = await withTaskGroup(of: String.self) { tasks in
        for number in 0..<60 {
          tasks.addTask {
            number % 2 == 0
              ? "nonce " + (await ending { () async throws(RPCError) in try await service.nonce() })
              : "token " + (await ending { () async throws(RPCError) in try await service.exchange(token) })
          }
        }
        return await tasks.reduce(into: [:]) { $0[$1, default: 0] += 1 }
      }
      #expect(
        endings == [
          "nonce OK": 10, "nonce RESOURCE_EXHAUSTED RATE_LIMITED_IP": 20, "token OK": 10,
          "token RESOURCE_EXHAUSTED RATE_LIMITED_USER": 20,
        ])
      #expect(try await database.value("select count(*) from auth.nonce", as: Int64.self) == 11)
      let written: [String] = try await database.values("select outcome || reason from auth.token_issuance")
      #expect(written == [String](repeating: "issued", count: 11))
    }
  }
}
