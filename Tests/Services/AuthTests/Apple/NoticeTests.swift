import AuthDomain
import JOSE
import JSON
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import TestSupport
import Testing
import WellKnown

extension BrokerFixture {
  /// Signs in with Apple from a new device.
  func appleSignIn(
    _ user: String = "ana", code: String? = nil, _ changes: [(String, JSONValue?)] = []
  ) async throws -> SessionTokens {
    let nonce = try await nonce(.apple)
    let response = try await auth.signInWithApple(
      .init(
        identityToken: try appleToken(user, nonce: nonce.providerNonce, changes), nonce: nonce.nonce, authorizationCode: code),
      options: from())
    return response.tokens ?? .init()
  }

  /// What Apple would post about a person.
  func notice(
    _ word: String, id: String = "n-1", of user: String = "ana", at seconds: Int64? = nil, _ more: JSONObject = [:]
  ) throws -> [UInt8] {
    let now = clock.wall.components.seconds
    var event: JSONObject = [
      "type": .string(word), "sub": .string("000.\(user).1"), "event_time": .number(JSONNumber((seconds ?? now) * 1000)),
    ]
    for member in more { event[member.name] = member.value }
    let claims: JSONObject = [
      "iss": "https://appleid.apple.com", "aud": .string(Self.bundleID), "jti": .string(id), "iat": .number(JSONNumber(now)),
      "exp": .number(JSONNumber(now + 86_400)), "events": .string(JSONValue.object(event).description),
    ]
    return (["payload": .string(try FakeGoogle.key.sign(header: [:], claims: claims))] as JSONValue).encoded()
  }

  func deliver(_ body: [UInt8], from address: String = "198.51.100.7", method: HTTPMethod = .post) async throws -> HTTPResponse {
    try await http.send(
      HTTPRequest(
        method, base + "/webhooks/apple/notifications",
        headers: ["Content-Type": "application/json", "X-Forwarded-For": address], body: body))
  }

  func profile(_ tokens: SessionTokens) async -> String {
    await ending { () async throws(RPCError) in try await auth.getProfile(options: from("192.0.2.1", tokens.accessToken)) }
  }
}

@Suite("What Apple tells, end to end", .serialized)
struct NoticeTests {
  @Test(
    "TN3194, AUTH-M9: when Apple says that consent is withdrawn or the account is gone, all sessions of the person end, once",
    arguments: ["consent-revoked", "account-delete", "account-deleted"])
  func ends(word: String) async throws {
    try await SignInTests.with { service, database in
      let (phone, tablet) = (try await service.appleSignIn(), try await service.appleSignIn())
      let (ben, google) = (try await service.appleSignIn("ben"), try await service.signIn())
      let response = try await service.deliver(try service.notice(word))
      #expect(response.status == 200)
      for tokens in [phone, tablet] {
        try await eventually { await service.profile(tokens) == "UNAUTHENTICATED CONSENT_REVOKED" }
        let refreshed = await ending { () async throws(RPCError) in try await service.refresh(tokens.refreshToken) }
        #expect(refreshed == "UNAUTHENTICATED CONSENT_REVOKED")
      }
      #expect(await service.profile(ben) == "OK")
      #expect(await service.profile(google.tokens ?? .init()) == "OK")
      let activity: [String] = try await database.values(
        """
        select concat(action, ' ', reason) from auth.activity where action <> 'signed_in' and action <> 'refresh_refused'
        order by action
        """)
      let action = word == "consent-revoked" ? "consent_withdrawn" : "provider_account_deleted"
      #expect(activity == [action + " ", "session_ended CONSENT_REVOKED", "session_ended CONSENT_REVOKED"])
      // Delivered again, after the person has come back: nothing.
      let back = try await service.appleSignIn()
      let again = try await service.deliver(try service.notice(word))
      #expect(again.status == 200)
      _ = try await service.refresh(back.refreshToken)
      let notices: Int64? = try await database.value("select count(*) from auth.provider_notice")
      #expect(notices == 1)
    }
  }

  @Test("AUTH-M9: of 20 deliveries of one notification at once one acts, and all are answered with 200")
  func atOnce() async throws {
    try await SignInTests.with { service, database in
      _ = try await service.appleSignIn()
      let body = try service.notice("consent-revoked")
      let statuses = try await withThrowingTaskGroup(of: Int.self) { tasks in
        for _ in 0..<20 { tasks.addTask { try await service.deliver(body).status } }
        return try await tasks.reduce(into: Set<Int>()) { $0.insert($1) }
      }
      #expect(statuses == [200])
      let effects: Int64? = try await database.value("select count(*) from auth.activity where action = 'consent_withdrawn'")
      #expect(effects == 1)
    }
  }

  @Test("AUTH-M9: a notice that comes late ends what was there when it happened, not what the person has agreed to since")
  func late() async throws {
    try await SignInTests.with { service, database in
      let before = try await service.appleSignIn()
      let happened = service.clock.wall.components.seconds
      service.clock.advance(by: .seconds(61))
      let after = try await service.appleSignIn()
      #expect(try await service.deliver(try service.notice("consent-revoked", at: happened)).status == 200)
      let endings: [String] = try await database.values(
        "select id::text from auth.session where end_cause = 'consent_revoked'")
      #expect(endings == [before.sessionID])
      _ = try await service.refresh(after.refreshToken)
      // To the second: clocks may differ by a minute.
      #expect(try await service.deliver(try service.notice("consent-revoked", id: "n-2", at: happened + 1)).status == 200)
      let refreshed = await ending { () async throws(RPCError) in try await service.refresh(after.refreshToken) }
      #expect(refreshed == "UNAUTHENTICATED CONSENT_REVOKED")
    }
  }

  @Test("AUTH-M9: what Apple did not sign does nothing; a person or a word that nobody knows is acknowledged")
  func strangers() async throws {
    try await SignInTests.with { service, database in
      let ana = try await service.appleSignIn()
      let forged = try FakeApple.impostor.sign(claims: ["jti": "n"])
      for (body, status) in [
        (Array("{}".utf8), 400), (Array("nonsense".utf8), 400), (Array(#"{"payload":"a.b.c"}"#.utf8), 401),
        (Array(#"{"payload":"\#(forged)"}"#.utf8), 401),
        // An identity token is no notification.
        (Array(#"{"payload":"\#(try service.appleToken(nonce: "n"))"}"#.utf8), 401),
        ([UInt8](repeating: 0x20, count: (128 << 10) + 1), 413),
        (try service.notice("consent-revoked", id: "a", of: "nobody"), 200), (try service.notice("moon-eclipsed", id: "b"), 200),
      ] as [([UInt8], Int)] {
        let response = try await service.deliver(body)
        #expect(response.status == status && response.headers["cache-control"] == "no-store")
      }
      #expect(try await service.deliver([], method: .put).status == 405)
      #expect(await service.profile(ana) == "OK")
      let ids: [String] = try await database.values("select id from auth.provider_notice order by id")
      #expect(ids == ["a", "b"])
    }
  }

  @Test("AUTH-M9: Apple is told 200 only when all is durable, and what failed is done by the next delivery")
  func durable() async throws {
    try await SignInTests.with { service, database in
      let ana = try await service.appleSignIn()
      let body = try service.notice("consent-revoked")
      try await database.script("alter table auth.revocation rename to lost")
      let failed = try await service.deliver(body)
      #expect(failed.status == 503 && failed.headers["retry-after"] == "1")
      let claimed: Int64? = try await database.value("select count(*) from auth.provider_notice")
      #expect(claimed == 0)
      try await database.script("alter table auth.lost rename to revocation")
      #expect(try await service.deliver(body).status == 200)
      try await eventually { await service.profile(ana) == "UNAUTHENTICATED CONSENT_REVOKED" }
    }
  }

  @Test("AUTH-M9: news of the relay's address reach the account, in the order of Apple's clock")
  func mail() async throws {
    try await SignInTests.with { service, database in
      let ana = try await service.appleSignIn()
      let now = service.clock.wall.components.seconds
      let relay: JSONObject = ["email": "x@privaterelay.appleid.com", "is_private_email": "true"]
      func account() async throws -> String? {
        try await database.value(
          "select concat_ws(' ', email, email_is_private, coalesce(email_is_forwarded::text, '?')) from auth.account")
      }
      #expect(try await account() == "ana@example.org f ?")
      for (word, id, at, row) in [
        ("email-disabled", "1", now + 10, "x@privaterelay.appleid.com t false"),
        ("email-enabled", "2", now + 20, "x@privaterelay.appleid.com t true"),
        // Late.
        ("email-disabled", "3", now + 15, "x@privaterelay.appleid.com t true"),
      ] {
        #expect(try await service.deliver(try service.notice(word, id: id, at: at, relay)).status == 200)
        #expect(try await account() == row, "\(id)")
      }
      #expect(await service.profile(ana) == "OK")
      let told: [String] = try await database.values(
        "select action from auth.activity where action like 'email%' order by id")
      #expect(told.count == 3)
    }
  }

  @Test("Notifications are limited by address, before they are looked at, and other addresses are not")
  func limited() async throws {
    let limits = ["PARLEY_AUTH_APPLE_NOTIFICATIONS_PER_MIN": "60", "PARLEY_AUTH_APPLE_NOTIFICATIONS_BURST": "2"]
    try await SignInTests.with(limits) { service, _ in
      for status in [400, 400, 429] { #expect(try await service.deliver(Array("{}".utf8)).status == status) }
      let refused = try await service.deliver(Array("{}".utf8))
      #expect(refused.headers["retry-after"] == "1")
      #expect(try await service.deliver(Array("{}".utf8), from: "198.51.100.8").status == 400)
      service.clock.advance(by: .seconds(1))
      for status in [400, 429] { #expect(try await service.deliver(Array("{}".utf8)).status == status) }
    }
  }

  @Test("An authorization code has up to 1,024 characters; a longer one, or what is none, is refused before the nonce is used")
  func codes() async throws {
    try await SignInTests.with { service, _ in
      for (code, outcome) in [
        (String(repeating: "c", count: 1024), "OK"), ("", "OK"),
        (String(repeating: "c", count: 1025), "INVALID_ARGUMENT INVALID_ARGUMENT"),
        ("c d", "INVALID_ARGUMENT INVALID_ARGUMENT"), ("c\u{0}d", "INVALID_ARGUMENT INVALID_ARGUMENT"),
      ] {
        let nonce = try await service.nonce(.apple)
        let token = try service.appleToken(nonce: nonce.providerNonce)
        func signIn(_ code: String) async -> String {
          await ending { () async throws(RPCError) in
            try await service.auth.signInWithApple(
              .init(identityToken: token, nonce: nonce.nonce, authorizationCode: code), options: service.from())
          }
        }
        #expect(await signIn(code) == outcome)
        if outcome != "OK" { #expect(await signIn("c") == "OK") }
        service.clock.advance(by: .seconds(1))
      }
    }
  }

  @Test("Where nobody signs in with Apple, nothing is taken from it")
  func notOffered() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database) { service in
        let response = try await service.deliver(Array("{}".utf8))
        #expect(response.status == 404)
      }
    }
  }
}
