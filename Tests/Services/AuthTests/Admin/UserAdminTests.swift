import AuthDomain
import EventLoop
import JSON
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import ServiceKit
import TestSupport
import Testing
import WellKnown

@Suite("What operators do of people", .serialized)
struct UserAdminTests {
  static let patience = CallOptions.timeout(.seconds(60))

  @Test("AUTH-M4: suspending ends every session on every copy within 5 s; nobody signs in or refreshes until it is reinstated")
  func suspension() async throws {
    try await BrokerDatabase.with { database in
      let clock = VirtualClock()
      try await BrokerFixture.with(database, clock: clock) { other in
        try await BrokerFixture.with(database, clock: clock) { service in
          var tokens: [SessionTokens] = []
          for _ in 0..<3 { tokens.append(try #require(try await service.signIn().tokens)) }
          let eve = try #require(try await service.signIn("eve").tokens)
          let id = try #require(try await service.signIn().profile?.userID)
          let response = try await service.users.suspendUser(.init(userID: id, reason: "stolen phone"), options: Self.patience)
          #expect(response.endedSessions == 4 && response.user?.liveSessions == 0 && response.user?.lastUsedAt == nil)
          #expect(response.user?.suspension?.by == ClientCertificates.operatorName)
          #expect(response.user?.suspension?.reason == "stolen phone")
          for copy in [service, other] {
            for token in tokens {
              // Each copy reads twice a second what has ended; silence of 5 s closes the door by itself.
              let access = token.accessToken
              try await eventually { await copy.profile(access) == "UNAUTHENTICATED SESSION_REVOKED_BY_OPERATOR" }
              #expect(await ending { () async throws(RPCError) in try await copy.refresh(token.refreshToken) } == Self.suspended)
            }
            #expect(await ending { () async throws(RPCError) in try await copy.signIn() } == Self.suspended)
          }
          #expect(await service.profile(eve.accessToken) == "OK")
          // The same again, for the same reason, is no news; for another one it is.
          let again = try await other.users.suspendUser(.init(userID: id, reason: "stolen phone"), options: Self.patience)
          #expect(again.endedSessions == 0 && again.user?.suspension == response.user?.suspension)
          let open = try await other.users.reinstateUser(.init(userID: id, reason: "found again"), options: Self.patience)
          #expect(open.user?.suspension == nil)
          _ = try await other.users.reinstateUser(.init(userID: id, reason: "found again"), options: Self.patience)
          #expect(
            await ending { () async throws(RPCError) in try await service.refresh(tokens[0].refreshToken) }
              == "UNAUTHENTICATED SESSION_REVOKED_BY_OPERATOR")
          let back = try await service.signIn()
          #expect(back.profile?.userID == id && !back.isNewAccount)
        }
      }
      let rows: [String] = try await database.values(
        """
        select concat_ws('|', action, outcome, reason, actor, note) from auth.activity
        where actor <> 'self' order by id
        """)
      let who = ClientCertificates.operatorName
      let ended = "session_ended|done|SESSION_REVOKED_BY_OPERATOR|\(who)|stolen phone"
      #expect(
        rows.sorted()
          == ["account_reinstated|done||\(who)|found again", "account_suspended|done||\(who)|stolen phone"]
          + Array(repeating: ended, count: 4))
    }
  }

  private static let suspended = "PERMISSION_DENIED ACCOUNT_SUSPENDED"

  @Test("AUTH-M4: an operator ends one session or all of a person, and reaches no other person's by a wrong name")
  func sessions() async throws {
    try await SignInTests.with { service, _ in
      var tokens: [SessionTokens] = []
      for number in 0..<4 {
        tokens.append(try #require(try await service.signIn("ana", device: "device \(number)").tokens))
        service.clock.advance(by: .seconds(1))
      }
      let eve = try await service.signIn("eve")
      let id = try #require(try await service.signIn().profile?.userID)
      var (names, page): ([String], String) = ([], "")
      repeat {
        let response = try await service.users.listUserSessions(
          .init(userID: id, pageSize: 2, pageToken: page), options: Self.patience)
        names += response.sessions.map { "\($0.device?.name ?? "")\($0.isCurrent ? "*" : "")" }
        page = response.nextPageToken
      } while !page.isEmpty
      #expect(names == ["phone", "device 3", "device 2", "device 1", "device 0"])
      for foreign in [eve.tokens?.sessionID ?? "", UserID(high: 1, low: 2).description, "rubbish"] {
        let result = await ending { () async throws(RPCError) in
          try await service.users.revokeUserSessions(.init(userID: id, sessionID: foreign, reason: "x"), options: Self.patience)
        }
        #expect(result == "NOT_FOUND SESSION_NOT_FOUND")
      }
      for count in [1, 0] as [Int32] {
        let response = try await service.users.revokeUserSessions(
          .init(userID: id, sessionID: tokens[1].sessionID, reason: "x"), options: Self.patience)
        #expect(response.count == count)
      }
      let token = tokens[1].accessToken
      try await eventually { await service.profile(token) == "UNAUTHENTICATED SESSION_REVOKED_BY_OPERATOR" }
      #expect(await service.profile(tokens[0].accessToken) == "OK")
      let all = try await service.users.revokeUserSessions(.init(userID: id, reason: "x"), options: Self.patience)
      #expect(all.count == 4)
      let none = try await service.users.revokeUserSessions(.init(userID: id, reason: "x"), options: Self.patience)
      #expect(none.count == 0)
      #expect(
        await ending { () async throws(RPCError) in try await service.refresh(tokens[0].refreshToken) }
          == "UNAUTHENTICATED SESSION_REVOKED_BY_OPERATOR")
      // Whoever is signed out, and not suspended, may sign in again.
      _ = try await service.signIn()
      #expect(await service.profile(eve.tokens?.accessToken ?? "") == "OK")
    }
  }

  @Test("AUTH-M8: the person sees that an operator ended their sessions, and not which one, from where and why")
  func ownActivity() async throws {
    try await SignInTests.with { service, _ in
      let id = try #require(try await service.signIn().profile?.userID)
      service.clock.advance(by: .seconds(1))
      _ = try await service.users.suspendUser(.init(userID: id, reason: "a secret suspicion"), options: Self.patience)
      service.clock.advance(by: .seconds(1))
      _ = try await service.users.reinstateUser(.init(userID: id, reason: "a secret suspicion"), options: Self.patience)
      service.clock.advance(by: .seconds(1))
      let tokens = try #require(try await service.signIn().tokens)
      let entries = try await service.auth.listActivity(options: service.from("192.0.2.1", tokens.accessToken)).entries
      #expect(
        entries.map { "\($0.action) \($0.actor) \($0.clientAddress)" } == [
          "signed_in self 192.0.2.1", "account_reinstated operator ", "session_ended operator ", "account_suspended operator ",
          "signed_in self 192.0.2.1",
        ]
          || entries.map { "\($0.action) \($0.actor) \($0.clientAddress)" } == [
            "signed_in self 192.0.2.1", "account_reinstated operator ", "account_suspended operator ", "session_ended operator ",
            "signed_in self 192.0.2.1",
          ])
      #expect(entries.first { $0.action == "session_ended" }?.reason == "SESSION_REVOKED_BY_OPERATOR")
      let told = entries.map { String(describing: $0) }.joined()
      #expect(!told.contains("secret") && !told.contains(ClientCertificates.operatorName))
    }
  }

  @Test("Accounts are found by identifier and by the provider's, and listed by each filter, page by page, the latest made first")
  func look() async throws {
    try await SignInTests.with(Self.twoApps) { service, _ in
      var made: [String: String] = [:]
      for name in ["ana", "bo", "cy"] {
        made[name] = try #require(try await service.signIn(name).profile?.userID)
        service.clock.advance(by: .seconds(60))
      }
      let nonce = try await service.nonce(.apple)
      let apple = try await service.auth.signInWithApple(
        .init(identityToken: try service.appleToken("ana", nonce: nonce.providerNonce), nonce: nonce.nonce),
        options: service.from())
      made["apple"] = try #require(apple.profile?.userID)
      service.clock.advance(by: .seconds(60))
      let begun = try await service.auth.beginSignIn(.init(app: "second", provider: .google), options: service.from())
      let second = try await service.auth.signInWithGoogle(
        .init(
          app: "second", idToken: service.googleToken("ana", nonce: begun.providerNonce, [("aud", "second")]),
          nonce: begun.nonce), options: service.from())
      made["second"] = try #require(second.profile?.userID)
      _ = try await service.users.suspendUser(.init(userID: made["bo"] ?? "", reason: "x"), options: Self.patience)

      let names = Dictionary(uniqueKeysWithValues: made.map { ($1, $0) })
      func list(_ request: ListUsersRequest) async throws -> [String] {
        var (request, found) = (request, [String]())
        repeat {
          let page = try await service.users.listUsers(request, options: Self.patience)
          found += page.users.map { names[$0.profile?.userID ?? ""] ?? "?" }
          request.pageToken = page.nextPageToken
        } while !request.pageToken.isEmpty
        return found
      }
      let start = FakeGoogle.now
      for (request, expected) in [
        (.init(), ["second", "apple", "cy", "bo", "ana"]), (.init(pageSize: 2), ["second", "apple", "cy", "bo", "ana"]),
        (.init(app: "second"), ["second"]), (.init(app: "nobody's"), []), (.init(provider: .apple), ["apple"]),
        (.init(email: "ANA@example.org", pageSize: 1), ["second", "apple", "ana"]), (.init(email: "ana@example"), []),
        (.init(createdSince: .init(seconds: start + 60), createdUntil: .init(seconds: start + 180)), ["cy", "bo"]),
        (.init(suspendedOnly: true), ["bo"]), (.init(app: "default", provider: .google, email: "cy@example.org"), ["cy"]),
      ] as [(ListUsersRequest, [String])] {
        #expect(try await list(request) == expected, "\(request)")
      }
      func get(_ request: GetUserRequest) async -> String {
        do throws(RPCError) {
          let user = try await service.users.getUser(request, options: Self.patience).user
          return names[user?.profile?.userID ?? ""] ?? "?"
        } catch { return "\(error.code.name) \(error.reason ?? "")" }
      }
      #expect(await get(.init(userID: made["cy"] ?? "")) == "cy")
      #expect(await get(.init(provider: .google, subject: "ana")) == "ana")
      #expect(await get(.init(app: "second", provider: .google, subject: "ana")) == "second")
      #expect(await get(.init(provider: .apple, subject: "000.ana.1")) == "apple")
      for absent in [
        .init(userID: UserID(high: 1, low: 2).description), .init(provider: .google, subject: "nobody"),
        .init(app: "third", provider: .google, subject: "ana"),
      ] as [GetUserRequest] { #expect(await get(absent) == "NOT_FOUND USER_NOT_FOUND") }
      let user = try await service.users.getUser(.init(userID: made["cy"] ?? ""), options: Self.patience).user
      #expect(user?.subject == "cy" && user?.liveSessions == 1 && user?.lastUsedAt?.seconds == start + 120)
      #expect(user?.profile?.email == "cy@example.org" && user?.suspension == nil)
    }
  }

  private static let twoApps = [
    "PARLEY_AUTH_APPS": "default,second",
    "PARLEY_AUTH_APP_SETTINGS":
      #"{"default":{"apple":{"audiences":["com.example.app"]}},"second":{"google":{"audiences":["second"]}}}"#,
  ]

  @Test("What an operator asks wrongly is refused by its field, and changes nothing")
  func wrong() async throws {
    try await SignInTests.with { service, _ in
      let signedIn = try await service.signIn()
      let id = try #require(signedIn.profile?.userID)
      let users = service.users
      let long = String(repeating: "x", count: 501)
      var endings: [String] = []
      func refuse<Value>(_ call: () async throws(RPCError) -> Value) async { endings.append(await ending(call)) }
      await refuse { () async throws(RPCError) in try await users.suspendUser(.init(userID: id), options: Self.patience) }
      await refuse { () async throws(RPCError) in
        try await users.suspendUser(.init(userID: id, reason: long), options: Self.patience)
      }
      await refuse { () async throws(RPCError) in
        try await users.suspendUser(.init(userID: "x", reason: "y"), options: Self.patience)
      }
      await refuse { () async throws(RPCError) in try await users.reinstateUser(.init(userID: id), options: Self.patience) }
      await refuse { () async throws(RPCError) in try await users.revokeUserSessions(.init(userID: id), options: Self.patience) }
      await refuse { () async throws(RPCError) in try await users.getUser(options: Self.patience) }
      await refuse { () async throws(RPCError) in try await users.getUser(.init(userID: id, subject: "x"), options: Self.patience)
      }
      await refuse { () async throws(RPCError) in try await users.getUser(.init(provider: .google), options: Self.patience) }
      await refuse { () async throws(RPCError) in try await users.listUsers(.init(pageSize: 101), options: Self.patience) }
      await refuse { () async throws(RPCError) in try await users.listUsers(.init(pageToken: "?"), options: Self.patience) }
      await refuse { () async throws(RPCError) in
        try await users.listUsers(.init(createdSince: .init(seconds: .max)), options: Self.patience)
      }
      await refuse { () async throws(RPCError) in try await users.listAudit(.init(outcome: "won"), options: Self.patience) }
      await refuse { () async throws(RPCError) in try await users.listAudit(.init(pageSize: 501), options: Self.patience) }
      await refuse { () async throws(RPCError) in try await users.listAudit(.init(userID: "x"), options: Self.patience) }
      #expect(endings == Array(repeating: "INVALID_ARGUMENT INVALID_ARGUMENT", count: endings.count))
      let nobody = UserID(high: 1, low: 2).description
      var absences: [String] = []
      absences.append(
        await ending { () async throws(RPCError) in
          try await users.suspendUser(.init(userID: nobody, reason: "x"), options: Self.patience)
        })
      absences.append(
        await ending { () async throws(RPCError) in
          try await users.reinstateUser(.init(userID: nobody, reason: "x"), options: Self.patience)
        })
      absences.append(
        await ending { () async throws(RPCError) in
          try await users.revokeUserSessions(.init(userID: nobody, reason: "x"), options: Self.patience)
        })
      absences.append(
        await ending { () async throws(RPCError) in
          try await users.listUserSessions(.init(userID: nobody), options: Self.patience)
        })
      #expect(absences == Array(repeating: "NOT_FOUND USER_NOT_FOUND", count: 4))
      #expect(await service.profile(signedIn.tokens?.accessToken ?? "") == "OK")
    }
  }

  @Test("B-48: only operators known by their certificates reach people: no method lets in anybody else's")
  func operatorsOnly() async throws {
    try await SignInTests.with { service, _ in
      let signedIn = try await service.signIn()
      let id = try #require(signedIn.profile?.userID)
      let options = service.from("192.0.2.1", signedIn.tokens?.accessToken)
      for (channel, expected) in [
        (service.channel, "UNAUTHENTICATED CLIENT_IDENTITY_REQUIRED"),
        (service.services, "PERMISSION_DENIED CLIENT_IDENTITY_REFUSED"),
      ] {
        let users = UserAdminService.Client(channel)
        let endings = [
          await ending { () async throws(RPCError) in try await users.listUsers(options: options) },
          await ending { () async throws(RPCError) in try await users.getUser(.init(userID: id), options: options) },
          await ending { () async throws(RPCError) in
            try await users.suspendUser(.init(userID: id, reason: "x"), options: options)
          },
          await ending { () async throws(RPCError) in
            try await users.reinstateUser(.init(userID: id, reason: "x"), options: options)
          },
          await ending { () async throws(RPCError) in try await users.listUserSessions(.init(userID: id), options: options) },
          await ending { () async throws(RPCError) in
            try await users.revokeUserSessions(.init(userID: id, reason: "x"), options: options)
          },
          await ending { () async throws(RPCError) in try await users.listAudit(options: options) },
        ]
        #expect(endings == Array(repeating: expected, count: 7))
        #expect(endings.count == UserAdminService.descriptor.methods.count)
      }
      #expect(await service.profile(signedIn.tokens?.accessToken ?? "") == "OK")
    }
  }

  @Test("AUTH-B2: each end of a session is counted once, with its cause, by the copy that ended it")
  func causes() async throws {
    let settings = ["PARLEY_AUTH_ADMIN_LISTEN": "127.0.0.1:0"]
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database, settings: settings) { other in
        try await BrokerFixture.with(database, settings: settings) { service in
          let id = try #require(try await service.signIn().profile?.userID)
          let tokens = try #require(try await service.signIn().tokens)
          let stolen = try #require(try await service.signIn().tokens)
          _ = try await service.auth.signOut(options: service.from("192.0.2.1", tokens.accessToken))
          let second = try await service.refresh(stolen.refreshToken)
          _ = try await service.refresh(second.refreshToken)
          for copy in [other, service] {
            #expect(
              await ending { () async throws(RPCError) in try await copy.refresh(stolen.refreshToken) }
                == "UNAUTHENTICATED REFRESH_REUSED")
          }
          for copy in [service, other] {
            _ = try await copy.users.revokeUserSessions(.init(userID: id, reason: "x"), options: Self.patience)
          }
          var sums: [String: Int] = [:]
          for copy in [service, other] {
            for (cause, count) in try await copy.ends() { sums[cause, default: 0] += count }
          }
          #expect(
            sums.filter { $0.value > 0 } == ["signed_out": 1, "refresh_reused": 1, "revoked_by_operator": 1])
          #expect(Set(sums.keys) == Set(AuthDomain.SessionEnd.allCases.map(\.rawValue)))
        }
      }
    }
  }
}

extension BrokerFixture {
  /// As an operator.
  var users: UserAdminService.Client { UserAdminService.Client(operators) }

  /// How a call with an access token ends, once the copy has heard of what ended.
  func profile(_ access: String) async -> String {
    await ending { () async throws(RPCError) in try await auth.getProfile(options: from("192.0.2.1", access)) }
  }

  /// How many sessions this copy has ended, by cause.
  func ends() async throws -> [String: Int] {
    let port = instance.addresses.admin?.port ?? 0
    let text = try await http.send(HTTPRequest(.get, "http://127.0.0.1:\(port)/metrics")).text ?? ""
    #expect(text.contains("# HELP parley_session_ends_total "))
    var counts: [String: Int] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: "\"")
      guard parts.count == 3, parts[0] == "parley_session_ends_total{cause=" else { continue }
      counts[String(parts[1])] = Int(parts[2].dropFirst(2))
    }
    return counts
  }
}
