import AppleProvider
import AuthDomain
import AuthStore
import EventLoop
import JOSE
import JSON
import Outbound
import PostgreSQL
import Telemetry
import TestSupport
import Testing
import Values

@testable import AuthAPI

/// Grants of Apple's on a database of their own, before a fake Apple, on a virtual clock.
private struct GrantWorld: Sendable {
  static let old = "old:" + Base64.encode([UInt8](repeating: 1, count: 32))
  static let new = "new:" + Base64.encode([UInt8](repeating: 2, count: 32))
  static let key = FakeApple.makeKey(.es256, "ABC1234567")

  let database: Database
  let prepared: BrokerDatabase
  let apple = FakeApple()
  let clock = VirtualClock()
  let log = CapturedLog()
  let metrics = PrometheusRegistry()

  static func with(_ body: @escaping @Sendable (GrantWorld) async throws -> Void) async throws {
    try await LimitStoreTests.withStore { database, _, prepared in
      try await body(GrantWorld(database: database, prepared: prepared))
    }
  }

  var store: ProviderGrantStore { ProviderGrantStore(database, patience: .seconds(60)) }

  func grants(sealedWith keys: String = old) throws -> AppleGrants {
    let credential = try AppleCredential(teamID: "TEAM123456", keyID: "ABC1234567", privateKey: Self.key.privatePEM())
    let tokens = AppleTokenClient(credential, over: apple, clock: clock.google, log: log.logger)
    return AppleGrants(
      store: store, tokens: tokens, sealing: try SealingKeys(parsing: keys), lease: .seconds(20), log: log.logger,
      metrics: metrics, now: { [clock] in Instant(seconds: 0).advanced(by: clock.wall) })
  }

  /// An account, and the grant of a sign-in with it.
  func account(_ number: UInt64 = 1) async throws -> ProviderGrant {
    let user = UserID(high: 7, low: number)
    try await prepared.script(
      """
      insert into auth.account (user_id, app, provider, name, email_is_verified, email_is_private, created_at)
      values ('\(user)', 'default', 'apple', 'Ana', true, false, now())
      """)
    return ProviderGrant(user: user, provider: .apple, clientID: FakeApple.bundleID)
  }

  /// A token of Apple's for a code, and whose it is.
  static func answer(_ token: String, subject: String = "ana") -> FakeApple.Answer {
    let identity = FakeApple.token(changes: [("sub", .string(subject))])
    let body: JSONObject = ["refresh_token": .string(token), "id_token": .string(identity), "access_token": "a"]
    return .status(200, JSONValue.object(body).description)
  }

  /// What the row of the only grant says.
  func row() async throws -> String {
    try await prepared.value(
      """
      select concat_ws(' ', case when sealed_token is null then 'no token' else 'token' end,
        case when sealed_code is null then 'no code' else 'code' end, coalesce(ending, '-'), coalesce(failure, '-'))
      from auth.provider_grant
      """, as: String.self) ?? "none"
  }

  func metric(_ name: String) -> String? {
    String(decoding: metrics.exposition(), as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(name) }
      .flatMap { $0.split(separator: " ").last.map(String.init) }
  }
}

@Suite("What Apple granted", .serialized)
struct GrantTests {
  @Test("TN3194, AUTH-M9: a sign-in's code becomes a refresh token that is kept sealed, and opens for its account alone")
  func kept() async throws {
    try await GrantWorld.with { world in
      let (grants, ana, ben) = (try world.grants(), try await world.account(), try await world.account(2))
      await grants.keep(code: "planted-code", of: "ana", for: ana)
      #expect(try await world.row() == "no token code - -")
      world.apple.set { $0.answers = [GrantWorld.answer("planted-token")] }
      #expect(try await grants.exchangeCodes(atMost: 8) == 1)
      #expect(try await world.row() == "token no code - -")
      #expect(world.apple.forms.first?.contains("code=planted-code") == true)
      #expect(world.metric("parley_apple_codes_total{outcome=\"exchanged\"}") == "1")
      let held = try #require(try await world.store.tokens(of: ana.user).first)
      #expect(!String(decoding: held.sealed, as: UTF8.self).contains("planted"))
      #expect(!world.log.all.contains { $0.contains("planted") })
      // Moved to another account's row, it is no token.
      try await world.prepared.script(
        "update auth.provider_grant set user_id = '\(ben.user)' where user_id = '\(ana.user)'")
      let moved = await #expect(throws: PortFailure.self) { try await grants.revokeGrants(of: ben.user) }
      #expect(moved?.reason.hasPrefix("box_not_authentic") == true)
      #expect(world.apple.forms.count == 1)
    }
  }

  @Test(
    "AUTH-M9: a code that gets no token is given up with the reason on record, and what may pass is tried again until it does",
    arguments: [
      (.status(400, #"{"error":"invalid_grant"}"#), "invalid_grant"),
      (.status(400, #"{"error":"invalid_client"}"#), "refused: status 400 invalid_client"),
      (.status(200, #"{"access_token":"a"}"#), "no_refresh_token"), (.status(200, "[]"), "malformed_answer: no JSON object"),
      (GrantWorld.answer("t", subject: "ben"), "other_subject"),
    ] as [(FakeApple.Answer, String)])
  func givenUp(answer: FakeApple.Answer, failure: String) async throws {
    try await GrantWorld.with { world in
      let (grants, ana) = (try world.grants(), try await world.account())
      await grants.keep(code: "c", of: "ana", for: ana)
      world.apple.set { $0.answers = [answer] }
      _ = try await grants.exchangeCodes(atMost: 8)
      #expect(try await world.row() == "no token no code - \(failure)")
      #expect(world.log.all.contains { $0.hasPrefix("error no token was got for an authorization code") })
      #expect(try await grants.exchangeCodes(atMost: 8) == 0)
    }
  }

  @Test("A code waits while Apple is away, for its five minutes to the second, and a later sign-in's takes its place")
  func postponed() async throws {
    try await GrantWorld.with { world in
      let (grants, ana) = (try world.grants(), try await world.account())
      await grants.keep(code: "c", of: "ana", for: ana)
      world.apple.set { $0.answers = [.failure(.timeout)] }
      #expect(try await grants.exchangeCodes(atMost: 8) == 1)
      #expect(try await world.row() == "no token code - unavailable: timeout")
      #expect(try await grants.exchangeCodes(atMost: 8) == 0)
      world.clock.advance(by: .seconds(15))
      world.apple.set { $0.answers = [GrantWorld.answer("t")] }
      #expect(try await grants.exchangeCodes(atMost: 8) == 1)
      #expect(try await world.row() == "token no code - -")
      // Kept at 0 s, it serves at 299 s and no more at 300 s; the token from before stays.
      for (age, row) in [(299, "token no code - -"), (300, "token no code - code_expired")] {
        await grants.keep(code: "d", of: "ana", for: ana)
        world.clock.advance(by: .seconds(age))
        _ = try await grants.exchangeCodes(atMost: 8)
        #expect(try await world.row() == row, "\(age) s")
      }
      await grants.keep(code: "first", of: "ana", for: ana)
      await grants.keep(code: "second", of: "ana", for: ana)
      #expect(try await grants.exchangeCodes(atMost: 8) == 1)
      #expect(world.apple.forms.last?.contains("code=second") == true)
    }
  }

  @Test("Of copies that look at once each code is exchanged by one, and one that dies leaves its codes after the lease")
  func copies() async throws {
    try await GrantWorld.with { world in
      let grants = try world.grants()
      for number in 1...12 as ClosedRange<UInt64> {
        await grants.keep(code: "c\(number)", of: "ana", for: try await world.account(number))
      }
      let dead = try await world.store.claimCodes(atMost: 3, for: .seconds(20), at: Instant(seconds: FakeGoogle.now))
      #expect(dead.count == 3)
      world.apple.set { $0.answers = [GrantWorld.answer("t")] }
      try await withThrowingTaskGroup(of: Int.self) { tasks in
        for _ in 0..<4 { tasks.addTask { try await grants.exchangeCodes(atMost: 8) } }
        let total = try await tasks.reduce(0, +)
        #expect(total == 9)
      }
      #expect(Set(world.apple.forms).count == 9)
      world.clock.advance(by: .seconds(20))
      #expect(try await grants.exchangeCodes(atMost: 8) == 3)
      let tokens: Int? = try await world.prepared.value(
        "select count(*) from auth.provider_grant where sealed_token is not null and sealed_code is null")
      #expect(tokens == 12)
    }
  }

  @Test("TN3194, AUTH-M9: a deletion revokes with retry and records the answer; what Apple does not know any more is done")
  func revoked() async throws {
    try await GrantWorld.with { world in
      let (grants, ana) = (try world.grants(), try await world.account())
      func granted() async throws {
        await grants.keep(code: "c", of: "ana", for: ana)
        world.apple.set { $0.answers = [GrantWorld.answer("t.1")] }
        _ = try await grants.exchangeCodes(atMost: 8)
        world.apple.set { $0.forms = [] }
      }
      try await granted()
      world.apple.set { $0.answers = [.status(503), .failure(.connectionLost), .status(200)] }
      #expect(try await grants.revokeGrants(of: ana.user) == 1)
      #expect(world.apple.forms.count == 3)
      let isWhole = world.apple.forms.allSatisfy {
        $0.contains("token=t.1") && $0.contains("token_type_hint=refresh_token") && $0.contains("client_id=\(FakeApple.bundleID)")
      }
      #expect(isWhole)
      #expect(try await world.row() == "no token no code revoked -")
      #expect(world.metric("parley_apple_revocations_total{answer=\"revoked\"}") == "1")
      // Done is done.
      #expect(try await grants.revokeGrants(of: ana.user) == 0)
      #expect(world.apple.forms.count == 3)

      try await granted()
      world.apple.set { $0.answers = [.status(400, #"{"error":"invalid_grant"}"#)] }
      #expect(try await grants.revokeGrants(of: ana.user) == 0)
      #expect(try await world.row() == "no token no code already_invalid -")

      // What failed is told, kept and done by the next call.
      try await granted()
      for (answer, failure) in [
        (FakeApple.Answer.status(503), "unavailable: status 503"),
        (.status(400, #"{"error":"invalid_client"}"#), "refused: status 400 invalid_client"),
      ] {
        world.apple.set { $0.answers = [answer] }
        let error = await #expect(throws: PortFailure.self) { try await grants.revokeGrants(of: ana.user) }
        #expect(error?.reason == failure)
        #expect(try await world.row() == "token no code - \(failure)")
      }
      world.apple.set { $0.answers = [.status(200)] }
      #expect(try await grants.revokeGrants(of: ana.user) == 1)
      #expect(try await world.row() == "no token no code revoked -")
      #expect(try await grants.revokeGrants(of: UserID(high: 9, low: 9)) == 0)
    }
  }

  @Test("AUTH-M9: a deletion right after the sign-in revokes what the code brings, and waits for who is exchanging it")
  func deletedAtOnce() async throws {
    try await GrantWorld.with { world in
      let (grants, ana) = (try world.grants(), try await world.account())
      await grants.keep(code: "c", of: "ana", for: ana)
      world.apple.set { $0.answers = [GrantWorld.answer("t"), .status(200)] }
      #expect(try await grants.revokeGrants(of: ana.user) == 1)
      #expect(try await world.row() == "no token no code revoked -")
      await grants.keep(code: "d", of: "ana", for: ana)
      let taken = try await world.store.claimCodes(atMost: 1, for: .seconds(20), at: Instant(seconds: FakeGoogle.now))
      let busy = await #expect(throws: PortFailure.self) { try await grants.revokeGrants(of: ana.user) }
      #expect(taken.count == 1 && busy?.kind == .unavailable)
      // Whoever took it comes back with a token, and there is no such account any more: it is revoked at once.
      try await world.prepared.script("delete from auth.provider_grant; delete from auth.account")
      await grants.keep(code: "e", of: "ana", for: ana)
      #expect(try await world.row() == "none")
    }
  }

  @Test("AUTH-M9: a token that comes for an account that is gone is revoked at once")
  func goneMeanwhile() async throws {
    try await GrantWorld.with { world in
      let (grants, ana) = (try world.grants(), try await world.account())
      await grants.keep(code: "c", of: "ana", for: ana)
      // The row goes between the claim and the answer.
      try await world.prepared.script(
        """
        create function auth.forget() returns trigger language plpgsql security definer as
        $$ begin delete from auth.provider_grant where user_id = new.user_id; return null; end $$;
        create trigger forget after update of code_due_at on auth.provider_grant
        for each row when (new.sealed_code is not null) execute function auth.forget()
        """)
      world.apple.set { $0.answers = [GrantWorld.answer("orphan"), .status(200)] }
      _ = try await grants.exchangeCodes(atMost: 8)
      #expect(world.apple.urls.last?.hasSuffix("/auth/revoke") == true)
      #expect(world.apple.forms.last?.contains("token=orphan") == true)
    }
  }

  @Test("A new key-encryption key seals all tokens anew; what no given key opens stays as it was and is told of")
  func rewrapped() async throws {
    try await GrantWorld.with { world in
      let grants = try world.grants()
      world.apple.set { $0.answers = [GrantWorld.answer("t")] }
      // More than a page.
      for number in 1...103 as ClosedRange<UInt64> {
        await grants.keep(code: "c", of: "ana", for: try await world.account(number))
      }
      while try await grants.exchangeCodes(atMost: 50) > 0 {}
      func sealedWith(_ name: String) async throws -> Int? {
        try await world.prepared.value("select count(*) from auth.provider_grant where sealed_with = \(name)")
      }
      #expect(try await sealedWith("old") == 103)
      #expect(try await grants.rewrap() == 0)
      try await world.prepared.script(
        "update auth.provider_grant set sealed_token = '\\x00' where user_id = '\(UserID(high: 7, low: 50))'")
      let both = try world.grants(sealedWith: "\(GrantWorld.new),\(GrantWorld.old)")
      #expect(try await both.rewrap() == 1)
      #expect(try await sealedWith("old") == 1)
      #expect(world.log.all.contains { $0.contains("sealed with a key that is not given") && $0.contains("grants=1") })
      // The old key can go.
      world.apple.set { $0.answers = [.status(200)] }
      #expect(try await world.grants(sealedWith: GrantWorld.new).revokeGrants(of: UserID(high: 7, low: 103)) == 1)
    }
  }
}
