import AuthDomain
import EventLoop
import HTTP2
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestSupport
import Testing
import WellKnown

@Suite("Sessions, end to end", .serialized)
struct SessionTests {
  private static let attempts = (0..<10).map { "an attempt, number \($0)" }

  private static func profile(_ service: BrokerFixture, _ access: String) async -> String {
    await ending { () async throws(RPCError) in try await service.auth.getProfile(options: service.from("192.0.2.1", access)) }
  }

  private static func refreshing(_ service: BrokerFixture, _ token: String, _ attempt: String = "") async -> String {
    await ending { () async throws(RPCError) in try await service.refresh(token, attempt: attempt) }
  }

  @Test("B-46: a session is refreshed, its profile changed, and it is signed out, after which every token says so")
  func life() async throws {
    try await SignInTests.with { service, _ in
      let tokens = try #require(try await service.signIn().tokens)
      service.clock.advance(by: .seconds(361))
      #expect(await Self.profile(service, tokens.accessToken) == "UNAUTHENTICATED ACCESS_TOKEN_EXPIRED")
      let next = try await service.refresh(tokens.refreshToken, attempt: Self.attempts[0])
      #expect(next.sessionID == tokens.sessionID && next.refreshToken != tokens.refreshToken)
      let options = service.from("192.0.2.1", next.accessToken)
      let renamed = try await service.auth.updateProfile(
        .init(profile: .init(name: " Ana María "), updateMask: .init(paths: ["name"])), options: options)
      #expect(renamed.profile?.name == "Ana María")
      for (profile, paths, expected) in [
        (.init(name: ""), ["name"], "INVALID_ARGUMENT INVALID_ARGUMENT"),
        (.init(name: "Bo"), [], "INVALID_ARGUMENT INVALID_ARGUMENT"),
        (.init(name: "Bo"), ["email"], "INVALID_ARGUMENT INVALID_ARGUMENT"),
        (.init(userID: UserID(high: 1, low: 1).description, name: "Bo"), ["name"], "PERMISSION_DENIED NOT_YOUR_OWN"),
      ] as [(Profile, [String], String)] {
        let result = await ending { () async throws(RPCError) in
          try await service.auth.updateProfile(.init(profile: profile, updateMask: .init(paths: paths)), options: options)
        }
        #expect(result == expected)
      }
      _ = try await service.auth.signOut(options: options)
      #expect(await Self.refreshing(service, next.refreshToken) == "UNAUTHENTICATED SESSION_SIGNED_OUT")
      try await eventually { await Self.profile(service, next.accessToken) == "UNAUTHENTICATED SESSION_SIGNED_OUT" }
    }
  }

  @Test("AUTH-M2: lost answers, races, recovery and reuse, as a client sees them")
  func refreshes() async throws {
    try await SignInTests.with { service, _ in
      let first = try #require(try await service.signIn().tokens?.refreshToken)
      let second = try await service.refresh(first, attempt: Self.attempts[0])
      let again = try await service.refresh(first, attempt: Self.attempts[0])
      #expect(again.refreshToken == second.refreshToken)
      let race = await #expect(throws: RPCError.self) { try await service.refresh(first, attempt: Self.attempts[1]) }
      #expect(race?.code == .aborted && race?.reason == "REFRESH_RACED" && race?.retryAfter == .seconds(10))
      service.clock.advance(by: .seconds(10))
      let recovered = try await service.refresh(first, attempt: Self.attempts[1])
      #expect(recovered.refreshToken != second.refreshToken)
      #expect(await Self.refreshing(service, second.refreshToken) == "UNAUTHENTICATED REFRESH_REUSED")
      #expect(await Self.refreshing(service, recovered.refreshToken) == "UNAUTHENTICATED REFRESH_REUSED")
      try await eventually { await Self.profile(service, recovered.accessToken) == "UNAUTHENTICATED REFRESH_REUSED" }
    }
  }

  @Test("Every refusal of a refresh has its code and reason")
  func refusals() async throws {
    try await SignInTests.with(["PARLEY_AUTH_REFRESH_IP_BURST": "1000"]) { service, database in
      let token = try #require(try await service.signIn().tokens?.refreshToken)
      for shown in [
        "", "rubbish", String(token.dropLast()), String(token.dropFirst()), token + "A", "prt2_" + token.dropFirst(5),
      ] {
        #expect(await Self.refreshing(service, shown) == "UNAUTHENTICATED INVALID_REFRESH_TOKEN")
      }
      for attempt in ["short", String(repeating: "x", count: 65)] {
        #expect(await Self.refreshing(service, token, attempt) == "INVALID_ARGUMENT INVALID_ARGUMENT")
      }
      for (cause, reason) in [
        ("signed_out", "SESSION_SIGNED_OUT"), ("revoked", "SESSION_REVOKED"), ("refresh_reused", "REFRESH_REUSED"),
        ("expired", "SESSION_EXPIRED"), ("revoked_by_operator", "SESSION_REVOKED_BY_OPERATOR"),
        ("account_deleted", "ACCOUNT_DELETED"), ("consent_revoked", "CONSENT_REVOKED"),
      ] {
        try await database.script("update auth.session set ended_at = now(), end_cause = '\(cause)'")
        #expect(await Self.refreshing(service, token) == "UNAUTHENTICATED \(reason)")
      }
      try await database.script("delete from auth.session; delete from auth.session_lookup")
      #expect(await Self.refreshing(service, token) == "UNAUTHENTICATED INVALID_REFRESH_TOKEN")
      let idle = try #require(try await service.signIn().tokens?.refreshToken)
      service.clock.advance(by: .seconds(30 * 86_400))
      #expect(await Self.refreshing(service, idle) == "UNAUTHENTICATED SESSION_EXPIRED")
    }
  }

  @Test("AUTH-M6: refreshes are limited per session and per address")
  func limits() async throws {
    try await SignInTests.with(["PARLEY_AUTH_REFRESH_BURST": "2", "PARLEY_AUTH_REFRESH_IP_BURST": "4"]) { service, _ in
      let token = try #require(try await service.signIn().tokens?.refreshToken)
      for _ in 0..<2 { #expect(await Self.refreshing(service, token, Self.attempts[0]) == "OK") }
      #expect(await Self.refreshing(service, token, Self.attempts[0]) == "RESOURCE_EXHAUSTED RATE_LIMITED_USER")
      #expect(await Self.refreshing(service, "rubbish") == "UNAUTHENTICATED INVALID_REFRESH_TOKEN")
      #expect(await Self.refreshing(service, "rubbish") == "RESOURCE_EXHAUSTED RATE_LIMITED_IP")
    }
  }

  @Test("AUTH-S1: an app's own limit of refreshes holds in the place of the service's")
  func limitOfApp() async throws {
    let settings = ["PARLEY_AUTH_APP_SETTINGS": #"{"default":{"limits":{"refresh":{"perMinute":1,"burst":1}}}}"#]
    try await SignInTests.with(settings) { service, _ in
      let token = try #require(try await service.signIn().tokens?.refreshToken)
      #expect(await Self.refreshing(service, token, Self.attempts[0]) == "OK")
      #expect(await Self.refreshing(service, token, Self.attempts[0]) == "RESOURCE_EXHAUSTED RATE_LIMITED_USER")
    }
  }

  @Test("AUTH-M4: sessions are listed page by page, and ended one by one, but for this one, or all; nobody reaches another's")
  func lists() async throws {
    try await SignInTests.with { service, _ in
      var tokens: [SessionTokens] = []
      for number in 0..<5 {
        tokens.append(try #require(try await service.signIn("ana", device: "device \(number)").tokens))
        service.clock.advance(by: .seconds(1))
      }
      let eve = try #require(try await service.signIn("eve").tokens)
      let options = service.from("192.0.2.1", tokens[2].accessToken)
      var (names, page): ([String], String) = ([], "")
      repeat {
        let response = try await service.auth.listSessions(.init(pageSize: 2, pageToken: page), options: options)
        names += response.sessions.map { "\($0.device?.name ?? "")\($0.isCurrent ? "*" : "")" }
        page = response.nextPageToken
      } while !page.isEmpty
      #expect(names == ["device 4", "device 3", "device 2*", "device 1", "device 0"])
      for size in [-1, 101] as [Int32] {
        let result = await ending { () async throws(RPCError) in
          try await service.auth.listSessions(.init(pageSize: size), options: options)
        }
        #expect(result == "INVALID_ARGUMENT INVALID_ARGUMENT")
      }
      let badPage = await ending { () async throws(RPCError) in
        try await service.auth.listSessions(.init(pageToken: "rubbish"), options: options)
      }
      #expect(badPage == "INVALID_ARGUMENT INVALID_ARGUMENT")
      for foreign in [eve.sessionID, SessionID(high: 1, low: 2).description, "rubbish", ""] {
        let result = await ending { () async throws(RPCError) in
          try await service.auth.revokeSession(.init(sessionID: foreign), options: options)
        }
        #expect(result == "NOT_FOUND SESSION_NOT_FOUND")
      }
      for _ in 0..<2 { _ = try await service.auth.revokeSession(.init(sessionID: tokens[0].sessionID), options: options) }
      #expect(await Self.refreshing(service, tokens[0].refreshToken) == "UNAUTHENTICATED SESSION_REVOKED")
      #expect(try await service.auth.revokeSessions(options: options).count == 3)
      #expect(await Self.refreshing(service, tokens[4].refreshToken) == "UNAUTHENTICATED SESSION_REVOKED")
      #expect(await Self.profile(service, tokens[2].accessToken) == "OK")
      #expect(try await service.auth.revokeSessions(.init(includingCurrent: true), options: options).count == 1)
      let access = tokens[2].accessToken
      try await eventually { await Self.profile(service, access) == "UNAUTHENTICATED SESSION_REVOKED" }
      #expect(await Self.profile(service, eve.accessToken) == "OK")
      #expect(await Self.refreshing(service, eve.refreshToken) == "OK")
    }
  }

  @Test("B-48: every method of SESSION access wants a session")
  func strangers() async throws {
    try await SignInTests.with { service, _ in
      for access in [nil, "rubbish"] as [String?] {
        let reason = access == nil ? "MISSING_AUTHORIZATION" : "INVALID_ACCESS_TOKEN"
        let options = service.from("192.0.2.1", access)
        let endings = [
          await ending { () async throws(RPCError) in try await service.auth.signOut(options: options) },
          await ending { () async throws(RPCError) in try await service.auth.listSessions(options: options) },
          await ending { () async throws(RPCError) in try await service.auth.revokeSession(options: options) },
          await ending { () async throws(RPCError) in try await service.auth.revokeSessions(options: options) },
          await ending { () async throws(RPCError) in try await service.auth.getProfile(options: options) },
          await ending { () async throws(RPCError) in try await service.auth.updateProfile(options: options) },
          await ending { () async throws(RPCError) in try await service.auth.listActivity(options: options) },
        ]
        #expect(endings == Array(repeating: "UNAUTHENTICATED \(reason)", count: 7))
      }
    }
  }

  @Test("AUTH-M4: a watcher at one copy hears within 5 s of a session that ends at another, and hears a heartbeat before")
  func watch() async throws {
    try await BrokerDatabase.with { database in
      try await BrokerFixture.with(database) { other in
        try await BrokerFixture.with(database) { service in
          let tokens = try #require(try await other.signIn().tokens)
          let directory = try await Self.directory(service, database)
          let alive = try await directory.client.checkSessions(
            .init(sessionIDs: [tokens.sessionID, "rubbish", UserID(high: 1, low: 1).description]),
            options: .timeout(.seconds(30)))
          #expect(alive.aliveSessionIDs == [tokens.sessionID])
          let (took, cause) = try await directory.client.watchRevocations(options: .timeout(.seconds(40))) { stream in
            var stream = stream
            let heartbeat = try await stream.next()
            #expect(heartbeat?.sessions.isEmpty == true)
            _ = try await other.auth.signOut(options: other.from("192.0.2.1", tokens.accessToken))
            let start = MonotonicInstant.now()
            while let response = try await stream.next() {
              guard let ended = response.sessions.first else { continue }
              #expect(ended.sessionID == tokens.sessionID && response.cursor > 0)
              return (MonotonicInstant.now().duration(since: start), ended.cause)
            }
            throw TestFailure("the stream has ended")
          }
          #expect(cause == .signedOut && took < .seconds(5))
          let after = try await directory.client.checkSessions(
            .init(sessionIDs: [tokens.sessionID]), options: .timeout(.seconds(30)))
          #expect(after.aliveSessionIDs.isEmpty)
          let late = try await directory.client.watchRevocations(options: .timeout(.seconds(40))) { stream in
            var stream = stream
            return try await stream.next()?.sessions.map(\.sessionID)
          }
          #expect(late == [tokens.sessionID])
          await directory.channel.close()
          // Without a certificate nobody is told anything.
          let stranger = SessionDirectoryService.Client(service.channel)
          let result = await ending { () async throws(RPCError) in
            try await stranger.checkSessions(options: .timeout(.seconds(30)))
          }
          #expect(result == "UNAUTHENTICATED CLIENT_IDENTITY_REQUIRED")
        }
      }
    }
  }

  /// The directory as a service with a certificate calls it, on the loop of the test.
  private static func directory(
    _ service: BrokerFixture, _ database: BrokerDatabase
  ) async throws -> (client: SessionDirectoryService.Client, channel: ClientChannel) {
    var configuration = ClientChannelConfiguration()
    let folder = database.directory
    configuration.tls = try TLSContext(
      .client(
        trustRoots: .certificates(.file("\(folder)/ca.pem")),
        identity: .init(certificateChain: .file("\(folder)/peer.pem"), privateKey: .file("\(folder)/peer-key.pem")),
        serverName: "localhost"))
    let channel = ClientChannel(
      to: .host("127.0.0.1", port: try #require(service.instance.addresses.tls?.port)), on: service.loops,
      configuration: configuration)
    return (SessionDirectoryService.Client(channel), channel)
  }
}
