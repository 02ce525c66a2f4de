import AuthDomain
import JSON
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import ServiceKit
import TestSupport
import Testing
import WellKnown

@Suite("Signing in, end to end", .serialized)
struct SignInTests {
  static func with(
    _ settings: [String: String] = [:], _ body: @escaping @Sendable (BrokerFixture, BrokerDatabase) async throws -> Void
  ) async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, settings: BrokerFixture.appleAudience.merging(settings) { $1 }) {
        try await body($0, database)
      }
    }
  }

  @Test("A sign-in signs the one token that it hands out, and none that nobody gets (PF-16)")
  func oneSignature() async throws {
    try await Self.with(["PARLEY_AUTH_ADMIN_LISTEN": "127.0.0.1:0"]) { service, _ in
      func signed() async throws -> String? {
        let page = "http://\(try #require(service.instance.addresses.admin))/metrics"
        let text = try await service.http.send(HTTPRequest(.get, page)).text ?? ""
        return text.split(separator: "\n").first { $0.hasPrefix("parley_access_tokens_signed_total ") }.map(String.init)
      }
      #expect(try await signed() == "parley_access_tokens_signed_total 0")
      let tokens = try await service.signIn().tokens
      #expect(try await signed() == "parley_access_tokens_signed_total 1")
      _ = try await service.signIn()
      _ = try await service.refresh(tokens?.refreshToken ?? "")
      #expect(try await signed() == "parley_access_tokens_signed_total 3")
    }
  }

  @Test("B-47: Google's token becomes a session, once a new account and then the same")
  func google() async throws {
    try await Self.with { service, _ in
      let first = try await service.signIn()
      #expect(first.isNewAccount && first.profile?.name == "Ana" && first.profile?.email == "ana@example.org")
      #expect(first.profile?.emailVerified == true && first.profile?.provider == .google && first.profile?.app == "default")
      #expect(first.tokens?.tokenType == "Bearer" && first.tokens?.expiresIn?.seconds == 300)
      let second = try await service.signIn()
      #expect(!second.isNewAccount && second.profile?.userID == first.profile?.userID)
      #expect(second.tokens?.sessionID != first.tokens?.sessionID)
      let profile = try await service.auth.getProfile(options: service.from("192.0.2.1", first.tokens?.accessToken ?? ""))
      #expect(profile.profile == first.profile)
    }
  }

  @Test("B-44: Apple's token becomes a session, and the name comes from the app")
  func apple() async throws {
    try await Self.with { service, _ in
      let nonce = try await service.nonce(.apple)
      #expect(nonce.form == .sha256 && nonce.providerNonce.utf8.count == 64 && nonce.nonce.utf8.count == 43)
      let response = try await service.auth.signInWithApple(
        .init(
          identityToken: try service.appleToken(
            nonce: nonce.providerNonce, [("email", "x1@privaterelay.appleid.com"), ("is_private_email", "true")]),
          nonce: nonce.nonce, fullName: .init(givenName: "Ana", familyName: "Luz")), options: service.from())
      #expect(response.isNewAccount && response.profile?.name == "Ana" && response.profile?.isPrivateEmail == true)
      let tokens = try await service.refresh(response.tokens?.refreshToken ?? "")
      #expect(tokens.sessionID == response.tokens?.sessionID)
    }
  }

  @Test("B-44: Apple and Google accounts with one e-mail address stay two")
  func notLinked() async throws {
    try await Self.with { service, _ in
      let google = try await service.signIn()
      let nonce = try await service.nonce(.apple)
      let apple = try await service.auth.signInWithApple(
        .init(identityToken: try service.appleToken(nonce: nonce.providerNonce), nonce: nonce.nonce), options: service.from())
      #expect(apple.isNewAccount && apple.profile?.email == google.profile?.email)
      #expect(apple.profile?.userID != google.profile?.userID)
    }
  }

  @Test("B-45: a nonce serves once, for its provider, within its time, and in its form")
  func nonces() async throws {
    try await Self.with { service, _ in
      func google(_ claim: String?, _ nonce: String) async -> String {
        await ending { () async throws(RPCError) in
          try await service.auth.signInWithGoogle(
            .init(idToken: service.googleToken(nonce: claim), nonce: nonce), options: service.from())
        }
      }
      let hashed = try await service.nonce(.apple)
      #expect(await google(hashed.nonce, hashed.nonce) == "UNAUTHENTICATED NONCE_UNKNOWN")
      #expect(await google(hashed.providerNonce, hashed.nonce) == "UNAUTHENTICATED NONCE_FORM")
      let nonce = try await service.nonce()
      #expect(await google(nil, nonce.nonce) == "UNAUTHENTICATED NONCE_MISSING")
      #expect(await google(hashed.nonce, nonce.nonce) == "UNAUTHENTICATED NONCE_MISMATCH")
      #expect(await google(nonce.nonce, nonce.nonce) == "OK")
      service.clock.advance(by: .seconds(1))
      #expect(await google(nonce.nonce, nonce.nonce) == "UNAUTHENTICATED NONCE_UNKNOWN")
      let late = try await service.nonce()
      service.clock.advance(by: .seconds(600))
      #expect(await google(late.nonce, late.nonce) == "UNAUTHENTICATED NONCE_UNKNOWN")
      let inTime = try await service.nonce()
      service.clock.advance(by: .seconds(599))
      #expect(await google(inTime.nonce, inTime.nonce) == "OK")
      #expect(await google(inTime.nonce, String(inTime.nonce.dropLast())) == "UNAUTHENTICATED NONCE_UNKNOWN")
      let apple = try await service.nonce(.apple)
      let unsupported = try service.appleToken(nonce: nil, [("nonce_supported", false)])
      let response = try await service.auth.signInWithApple(
        .init(identityToken: unsupported, nonce: apple.nonce), options: service.from())
      #expect(response.isNewAccount)
    }
  }

  @Test("AUTH-M1: of 50 exchanges of one ID token at once exactly one succeeds")
  func fiftyAtOnce() async throws {
    try await Self.with(["PARLEY_AUTH_SIGN_IN_BURST": "1000"]) { service, database in
      let nonce = try await service.nonce()
      let request = SignInWithGoogleRequest(idToken: service.googleToken(nonce: nonce.nonce), nonce: nonce.nonce)
      let endings = await withTaskGroup(of: String.self) { tasks in
        for _ in 0..<50 {
          tasks.addTask {
            await ending { () async throws(RPCError) in
              try await service.auth.signInWithGoogle(request, options: service.from())
            }
          }
        }
        return await tasks.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
      }
      #expect(endings == ["OK": 1, "UNAUTHENTICATED ID_TOKEN_REPLAYED": 49])
      for (table, count) in [("account", 1), ("session", 1), ("session_lookup", 1), ("identity_lookup", 1), ("nonce", 0)] {
        let query: Query =
          switch table {
          case "account": "select count(*) from auth.account"
          case "session": "select count(*) from auth.session"
          case "session_lookup": "select count(*) from auth.session_lookup"
          case "identity_lookup": "select count(*) from auth.identity_lookup"
          default: "select count(*) from auth.nonce"
          }
        #expect(try await database.value(query, as: Int.self) == count, "\(table)")
      }
      // Another nonce does not help a token that was exchanged: it carries the first one.
      service.clock.advance(by: .seconds(1))
      #expect(
        await ending { () async throws(RPCError) in try await service.auth.signInWithGoogle(request, options: service.from()) }
          == "UNAUTHENTICATED ID_TOKEN_REPLAYED")
    }
  }

  @Test("Two first sign-ins of one person at once make one account")
  func oneAccount() async throws {
    try await Self.with { service, database in
      let users = try await withThrowingTaskGroup(of: String?.self) { tasks in
        for _ in 0..<8 { tasks.addTask { try await service.signIn().profile?.userID } }
        return try await tasks.reduce(into: Set<String?>()) { $0.insert($1) }
      }
      #expect(users.count == 1)
      #expect(try await database.value("select count(*) from auth.account", as: Int.self) == 1)
      #expect(try await database.value("select count(*) from auth.session", as: Int.self) == 8)
    }
  }

  @Test("Every refusal of a sign-in has its code and reason, and leaves no session")
  func refusals() async throws {
    try await Self.with { service, database in
      let nonce = try await service.nonce().nonce
      let good = service.googleToken(nonce: nonce)
      let long = String(repeating: "x", count: 101)
      for (request, expected) in [
        (.init(app: "nobody", idToken: good, nonce: nonce), "NOT_FOUND UNKNOWN_APP"),
        (.init(idToken: "", nonce: nonce), "INVALID_ARGUMENT INVALID_ARGUMENT"),
        (.init(idToken: good, nonce: ""), "INVALID_ARGUMENT INVALID_ARGUMENT"),
        (.init(idToken: good, nonce: nonce, device: .init(name: long)), "INVALID_ARGUMENT INVALID_ARGUMENT"),
        (.init(idToken: good, nonce: nonce, device: .init(platform: "a\u{0}b")), "INVALID_ARGUMENT INVALID_ARGUMENT"),
        (.init(idToken: "rubbish", nonce: nonce), "UNAUTHENTICATED INVALID_ID_TOKEN"),
        (
          .init(idToken: service.googleToken(nonce: nonce, [("aud", "another")]), nonce: nonce),
          "UNAUTHENTICATED INVALID_ID_TOKEN"
        ),
        (.init(idToken: String(good.dropLast()), nonce: nonce), "UNAUTHENTICATED INVALID_ID_TOKEN"),
      ] as [(SignInWithGoogleRequest, String)] {
        let result = await ending { () async throws(RPCError) in
          try await service.auth.signInWithGoogle(request, options: service.from())
        }
        #expect(result == expected)
      }
      let begin = await ending { () async throws(RPCError) in try await service.auth.beginSignIn(options: service.from()) }
      #expect(begin == "INVALID_ARGUMENT INVALID_ARGUMENT")
      #expect(try await database.value("select count(*) from auth.session", as: Int.self) == 0)
      _ = try await service.signIn("bo")
      try await database.script("update auth.account set suspended_at = now()")
      service.clock.advance(by: .seconds(1))
      #expect(
        await ending { () async throws(RPCError) in try await service.signIn("bo") } == "PERMISSION_DENIED ACCOUNT_SUSPENDED")
      let noted = try await database.value(
        "select count(*) from auth.activity where outcome = 'refused' and reason = 'ACCOUNT_SUSPENDED'", as: Int.self)
      #expect(noted == 1)
    }
  }

  @Test("An app that offers no Apple sign-in says so")
  func notOffered() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database) { service in
        let result = await ending { () async throws(RPCError) in try await service.nonce(.apple) }
        #expect(result == "FAILED_PRECONDITION PROVIDER_NOT_OFFERED")
      }
    }
  }

  @Test("AUTH-M6: sign-ins from one address are limited before any look at a token, and nobody gets in uncounted")
  func limits() async throws {
    try await Self.with(["PARLEY_AUTH_SIGN_IN_BURST": "3", "PARLEY_AUTH_SIGN_IN_PER_MIN": "60"]) { service, database in
      func rubbish(_ address: String) async -> String {
        await ending { () async throws(RPCError) in
          try await service.auth.signInWithGoogle(.init(idToken: "rubbish", nonce: "n"), options: service.from(address))
        }
      }
      for _ in 0..<3 { #expect(await rubbish("192.0.2.9") == "UNAUTHENTICATED INVALID_ID_TOKEN") }
      #expect(await rubbish("192.0.2.9") == "RESOURCE_EXHAUSTED RATE_LIMITED_IP")
      #expect(await rubbish("192.0.2.8") == "UNAUTHENTICATED INVALID_ID_TOKEN")
      service.clock.advance(by: .seconds(1))
      #expect(await rubbish("192.0.2.9") == "UNAUTHENTICATED INVALID_ID_TOKEN")
      try await database.script("alter table auth.rate_limit rename to rate_limit_away")
      #expect(await rubbish("192.0.2.7") == "UNAVAILABLE LIMITER_UNAVAILABLE")
    }
  }

  @Test("AUTH-M8: no token, nonce or subject is in any log line, and the activity of a person has their sign-ins")
  func secrets() async throws {
    try await Self.with { service, _ in
      let nonce = try await service.nonce()
      let token = service.googleToken("planted-subject", nonce: nonce.nonce)
      let response = try await service.auth.signInWithGoogle(.init(idToken: token, nonce: nonce.nonce), options: service.from())
      let tokens = try #require(response.tokens)
      _ = try await service.refresh(tokens.refreshToken)
      let log = service.log.all.joined(separator: "\n")
      #expect(log.contains("AuthService/SignInWithGoogle") && log.contains("AuthService/RefreshSession"))
      let parts =
        token.split(separator: ".").map(String.init) + tokens.accessToken.split(separator: ".").dropFirst().map(String.init)
      for secret in parts + [nonce.nonce, tokens.refreshToken, "planted-subject"] {
        #expect(!log.contains(secret), "\(secret.prefix(12)) is in the log")
      }
      let activity = try await service.auth.listActivity(options: service.from("192.0.2.1", tokens.accessToken))
      #expect(activity.entries.map(\.action) == ["signed_in"])
      #expect(activity.entries.first?.sessionID == tokens.sessionID && activity.entries.first?.clientAddress == "192.0.2.1")
    }
  }
}
