import AuthAPI
import EventLoop
import JOSE
import JSON
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCServer
import ServiceKit
import TestSupport
import Testing

@Suite("Broker, end to end", .serialized)
struct BrokerTests {
  static func withBroker(
    _ settings: [String: String] = [:], _ body: @escaping @Sendable (BrokerFixture) async throws -> Void
  ) async throws {
    try await BrokerDatabase.with { database in try await BrokerFixture.with(database, settings: settings, body) }
  }

  @Test("B-29, AUTH-M6: over gRPC call 31 of a burst is told when to come back, in trailer and details")
  func burst() async throws {
    try await Self.withBroker { broker in
      for _ in 1...30 { _ = try await broker.exchange(broker.idToken()) }
      let refusal = await #expect(throws: RPCError.self) { try await broker.exchange(broker.idToken()) }
      #expect(refusal?.code == .resourceExhausted && refusal?.message == "rate limit (user)")
      #expect(refusal?.reason == "RATE_LIMITED_USER" && refusal?.retryAfter == .seconds(1))
      #expect(refusal?.metadata["retry-after"] == "1" && refusal?.metadata["ratelimit-limit"] == "30")
      #expect(refusal?.metadata["ratelimit-remaining"] == "0" && refusal?.metadata["ratelimit-reset"] == "30")
      broker.clock.advance(by: .seconds(1))
      _ = try await broker.exchange(broker.idToken())
    }
  }

  @Test("B-16: of 40 exchanges of one user at once exactly 30 pass")
  func fortyAtOnce() async throws {
    try await Self.withBroker { broker in
      let passed = await withTaskGroup(of: Bool.self) { tasks in
        for _ in 0..<40 { tasks.addTask { (try? await broker.exchange(broker.idToken())) != nil } }
        return await tasks.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(passed == 30)
    }
  }

  @Test("A thousand exchanges by 100 users over 20 addresses: none refused, one mint, one key fetch")
  func thousand() async throws {
    try await Self.withBroker { broker in
      let refusals = await withTaskGroup(of: String?.self) { tasks in
        for number in 0..<1000 {
          tasks.addTask {
            do throws(RPCError) {
              _ = try await broker.exchange(broker.idToken("user\(number % 100)"), from: "192.0.2.\(number % 20)")
              return nil
            } catch { return "\(error)" }
          }
        }
        return await tasks.reduce(into: [String: Int]()) { if let error = $1 { $0[error, default: 0] += 1 } }
      }
      #expect(refusals == [:])
      #expect(broker.google.mints == 1)
      #expect(broker.google.keyFetches == 1)
    }
  }

  @Test("Refusals over gRPC carry the code, the text and the reason")
  func refusals() async throws {
    try await Self.withBroker(["ALLOWED_HD": "example.org"]) { broker in
      for (token, code, message, reason) in [
        ("rubbish", .unauthenticated, "invalid id token", "INVALID_ID_TOKEN"),
        (FakeGoogle.token(changes: [("sub", nil)]), .unauthenticated, "no subject", "NO_SUBJECT"),
        (FakeGoogle.token(changes: [("hd", nil)]), .permissionDenied, "forbidden: wrong domain", "WRONG_DOMAIN"),
      ] as [(String, StatusCode, String, String)] {
        let error = await #expect(throws: RPCError.self) { try await broker.exchange(token) }
        #expect(error?.code == code && error?.message == message && error?.reason == reason)
      }
      let unknown = await #expect(throws: RPCError.self) { try await broker.exchange(broker.idToken(), capability: "money") }
      #expect(unknown?.code == .invalidArgument && unknown?.reason == "UNKNOWN_CAPABILITY")
      let missing = await #expect(throws: RPCError.self) { try await broker.grpc.whoAmI(options: .timeout(.seconds(10))) }
      #expect(missing?.code == .unauthenticated && missing?.reason == "MISSING_AUTHORIZATION")
      let claims = try await broker.grpc.whoAmI(options: broker.options(broker.idToken()))
      #expect(claims.sub == "ana" && claims.email == "ana@example.org" && claims.hd == "example.org")
    }
  }

  @Test("A hanging mint ends at the caller's deadline, and the mint goes on for the others")
  func hangingMint() async throws {
    try await Self.withBroker(["PARLEY_AUTH_MINT_TIMEOUT": "2s"]) { broker in
      broker.google.set { $0.tokenFault = .hang }
      let elapsed = await leastTime(within: .milliseconds(550)) {
        let error = await #expect(throws: RPCError.self) {
          try await broker.exchange(broker.idToken(), timeout: .milliseconds(300))
        }
        #expect(error?.code == .deadlineExceeded)
      }
      #expect(elapsed < .milliseconds(550))
      broker.google.set { $0.tokenFault = .none }
      try await eventually { (try? await broker.exchange(broker.idToken("bo"))) != nil }
    }
  }

  @Test("B-19: two copies share limits, and a restart of both changes nothing")
  func copies() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database) { one in
        try await BrokerFixture.with(database) { other in
          for number in 0..<30 { _ = try await (number % 2 == 0 ? one : other).exchange(one.idToken()) }
          await #expect(throws: RPCError.self) { try await one.exchange(one.idToken()) }
          await #expect(throws: RPCError.self) { try await other.exchange(one.idToken()) }
        }
      }
      try await BrokerFixture.with(database) { again in
        let error = await #expect(throws: RPCError.self) { try await again.exchange(again.idToken()) }
        #expect(error?.reason == "RATE_LIMITED_USER")
      }
    }
  }

  @Test("Without its database the broker lets nobody in, says so, and recovers without a restart")
  func databaseAway() async throws {
    let server = try await PrivatePostgreSQL.start()
    defer { server.remove() }
    try await BrokerDatabase.with(on: server) { database in
      try await BrokerFixture.with(database) { broker in
        _ = try await broker.exchange(broker.idToken())
        // The tests' clusters write their log late, and the schema must outlive the crash.
        try await database.script("checkpoint")
        try await server.stop(signal: 9)
        try await eventually { !broker.instance.health.isServing }
        let error = await #expect(throws: RPCError.self) { try await broker.exchange(broker.idToken()) }
        #expect(error?.code == .unavailable && error?.reason == "LIMITER_UNAVAILABLE")
        let response = try await broker.get("/token", token: broker.idToken())
        #expect(response.status == 503 && response.text == "rate limiter unavailable")
        try await server.restart()
        try await eventually(atMost: .seconds(30)) {
          // Attempts that got past the limit have used it up.
          broker.clock.advance(by: .seconds(1))
          return (try? await broker.exchange(broker.idToken())) != nil
        }
        try await eventually { broker.instance.health.isServing }
      }
    }
  }

  @Test("B-25: the audit has a row for every token handed out, and for every denial of a known caller")
  func audit() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, settings: ["ALLOWED_HD": "example.org"]) { broker in
        _ = try await broker.exchange(broker.idToken(), from: "192.0.2.77")
        await #expect(throws: RPCError.self) { try await broker.exchange(FakeGoogle.token("eve", changes: [("hd", "evil.org")])) }
        await #expect(throws: RPCError.self) { try await broker.exchange(broker.idToken(), capability: "money") }
        await #expect(throws: RPCError.self) { try await broker.exchange("rubbish") }
      }
      let lines: [String] = try await database.values(
        "select concat_ws('|', outcome, reason, audience, capability, client_address, expires_at > issued_at) from auth.token_issuance order by reason"
      )
      #expect(
        lines == [
          "issued||\(FakeGoogle.clientID)|default|192.0.2.77|t", "denied|UNKNOWN_CAPABILITY|\(FakeGoogle.clientID)||192.0.2.1",
          "denied|WRONG_DOMAIN|\(FakeGoogle.clientID)|default|192.0.2.1",
        ])
      #expect(try await database.value("select count(distinct subject_hash) from auth.token_issuance", as: Int.self) == 2)
      #expect(try await database.value("select bool_and(request_id <> '') from auth.token_issuance", as: Bool.self) == true)
    }
  }

  @Test("B-25: an exchange is one line of the access log, with client id, subject hash, latency and outcome (PF-14)")
  func oneLine() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database) { broker in
        // What the database has to say once is said.
        _ = try await broker.exchange(broker.idToken())
        let subject = try #require(try await database.value("select subject_hash from auth.token_issuance", as: String.self))
        func lines(_ body: () async throws -> Void) async throws -> [String] {
          let before = broker.log.all.count
          try await body()
          return broker.log.all.dropFirst(before).filter { !$0.hasPrefix("debug ") && !$0.hasPrefix("trace ") }
        }
        let known = ["client_id=\(FakeGoogle.clientID)", "subject=\(subject)", "capability=default"]
        for (calling, words) in [
          (
            { _ = try await broker.exchange(broker.idToken(), from: "192.0.2.77") },
            ["info call ", "client=192.0.2.77", "outcome=OK", "status=OK", "/ExchangeToken"] + known
          ),
          (
            { _ = try await broker.get("/token", token: broker.idToken(), headers: ["X-Forwarded-For": "192.0.2.78"]) },
            ["info request ", "client=192.0.2.78", "outcome=OK", "status=200", "path=/token"] + known
          ),
          (
            { _ = try? await broker.exchange("rubbish", from: "192.0.2.79") },
            ["info call ", "client=192.0.2.79", "outcome=INVALID_ID_TOKEN", "status=UNAUTHENTICATED", "detail="]
          ),
          (
            { _ = try? await broker.exchange(broker.idToken(), from: "192.0.2.80", capability: "money") },
            ["info call ", "outcome=UNKNOWN_CAPABILITY"] + known.prefix(2)
          ),
        ] as [(() async throws -> Void, [String])] {
          let told = try await lines(calling)
          #expect(told.count == 1, "\(told)")
          for word in words { #expect(told.first?.contains(word) == true, "\(word) in \(told)") }
          // In milliseconds, to the microsecond.
          #expect(told.first?.contains(#/ duration_ms=[0-9]+(\.[0-9]+)?( |$)/#) == true, "\(told)")
        }
        let account = try await lines { _ = try? await broker.auth.getProfile(options: broker.from("192.0.2.81", "rubbish")) }
        #expect(account.count == 1 && account[0].contains("status=UNAUTHENTICATED"), "\(account)")
      }
    }
  }

  @Test("Calls that end well are sampled as the setting says, sign-in and broker alike; refusals are all there (PF-09)")
  func sampling() async throws {
    let settings = ["PARLEY_AUTH_LOG_ACCESS_SAMPLING": "1000000", "PARLEY_AUTH_LOG_LEVEL": "info"]
    try await SignInTests.with(settings) { service, _ in
      let access = try await service.signIn().tokens?.accessToken ?? ""
      for _ in 0..<5 {
        _ = try await service.auth.getProfile(options: service.from("192.0.2.1", access))
        _ = try await service.exchange(service.idToken())
        _ = try await service.get("/whoami", token: service.idToken())
      }
      _ = try? await service.exchange("rubbish")
      _ = try? await service.refresh("rubbish")
      let lines = service.log.all.filter { $0.hasPrefix("info call ") || $0.hasPrefix("info request ") }
      #expect(lines.count == 2, "\(lines)")
      #expect(lines.filter { $0.contains("outcome=INVALID_ID_TOKEN") }.count == 1)
      #expect(lines.filter { $0.contains("outcome=INVALID_REFRESH_TOKEN") && $0.contains("detail=not_sealed") }.count == 1)
    }
  }

  @Test("A token whose audit row cannot be written is not handed out")
  func auditFails() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database) { broker in
        try await database.script("alter table auth.token_issuance add constraint closed check (reason = 'never') not valid")
        let error = await #expect(throws: RPCError.self) { try await broker.exchange(broker.idToken()) }
        #expect(error?.code == .unavailable && error?.reason == "AUDIT_UNAVAILABLE")
        try await database.script("alter table auth.token_issuance drop constraint closed")
        _ = try await broker.exchange(broker.idToken())
      }
    }
  }

  @Test("B-24: no ID token, cloud token, assertion, key or subject is in any log line at any level")
  func secrets() async throws {
    try await Self.withBroker(["MINT_CACHE_ENABLED": "false"]) { broker in
      let token = FakeGoogle.token("planted-subject")
      _ = try await broker.exchange(token)
      _ = try await broker.get("/token?token=planted-query", token: token)
      _ = try await broker.get("/whoami", token: token + "planted-suffix")
      broker.google.set { $0.tokenFault = .status(400, #"{"error":"invalid_grant","error_description":"planted-description"}"#) }
      await #expect(throws: RPCError.self) { try await broker.exchange(token) }
      let log = broker.log.all.joined(separator: "\n")
      #expect(log.contains("outcome=OK") && log.contains("outcome=INVALID_ID_TOKEN"))
      #expect(log.contains("invalid_grant"))
      let parts = token.split(separator: ".").map(String.init)
      let assertion = broker.google.sentAssertions.first.map { String($0.suffix(100)) } ?? "no assertion"
      let key = try FakeGoogle.account.privatePEM().split(separator: "\n").map(String.init)[3]
      for secret in parts + ["planted", FakeGoogle.tokenPrefix, assertion, key, "ana@example.org"] {
        #expect(!log.contains(secret), "\(secret.prefix(16)) is in the log")
      }
    }
  }
}
