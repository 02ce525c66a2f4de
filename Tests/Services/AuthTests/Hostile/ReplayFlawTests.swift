import AuthDomain
import AuthStore
import EventLoop
import Logging
import ParleyAPI
import PostgreSQL
import RPC
import Synchronization
import TestSupport
import Testing

/// What other systems let serve twice, tried through the service.
@Suite("Published flaws of other systems: what serves once", .serialized)
struct ReplayFlawTests {
  @Test("CVE-2025-46815, GHSA-f24x-5g9q-753f: a sign-in serves once, and brings a session of its own whatever the client shows")
  func secondExchange() async throws {
    try await SignInTests.with { service, _ in
      let attacker = try #require(try await service.signIn("eve").tokens)
      let nonce = try await service.nonce()
      let request = SignInWithGoogleRequest(idToken: service.googleToken(nonce: nonce.nonce), nonce: nonce.nonce)
      // Sessions that were planted in the victim's client: as a credential, as a cookie, as fields of one's own.
      var planted = service.from("192.0.2.1", attacker.accessToken)
      for (name, value) in [
        ("cookie", "session=\(attacker.sessionID)"), ("x-session-id", attacker.sessionID), ("session_id", attacker.sessionID),
      ] { try planted.metadata.append(checking: name, value) }
      let answer = try await service.auth.signInWithGoogle(request, options: planted)
      let given = try #require(answer.tokens)
      #expect(given.sessionID != attacker.sessionID)
      let (mine, hers) = (given.refreshToken.refreshTokenParts, attacker.refreshToken.refreshTokenParts)
      #expect(mine?.session.description == given.sessionID && mine?.session != hers?.session)
      let sessions = try await service.auth.listSessions(options: service.from("192.0.2.1", attacker.accessToken)).sessions
      #expect(sessions.map(\.id) == [attacker.sessionID])
      // The same token and nonce again, and the token with another nonce, from the same client and from another.
      let another = try await service.nonce()
      for (nonce, address) in [(nonce.nonce, "192.0.2.1"), (nonce.nonce, "203.0.113.9"), (another.nonce, "192.0.2.1")] {
        let second = await ending { () async throws(RPCError) in
          try await service.auth.signInWithGoogle(
            .init(idToken: request.idToken, nonce: nonce), options: service.from(address))
        }
        #expect(
          second == (nonce == another.nonce ? "UNAUTHENTICATED NONCE_MISMATCH" : "UNAUTHENTICATED ID_TOKEN_REPLAYED"))
      }
    }
  }

  @Test("CVE-2026-27840: every proper prefix of a refresh token and of an access token is refused by the service")
  func prefixes() async throws {
    let settings = ["PARLEY_AUTH_REFRESH_IP_BURST": "1000"]
    try await SignInTests.with(settings) { service, _ in
      let tokens = try #require(try await service.signIn().tokens)
      for length in 0..<tokens.refreshToken.count {
        let result = await ending { () async throws(RPCError) in
          try await service.refresh(String(tokens.refreshToken.prefix(length)))
        }
        #expect(result == "UNAUTHENTICATED INVALID_REFRESH_TOKEN", "\(length) characters")
      }
      for length in stride(from: 1, to: tokens.accessToken.count, by: 7) {
        let result = await ending { () async throws(RPCError) in
          try await service.auth.getProfile(
            options: service.from("192.0.2.1", String(tokens.accessToken.prefix(length))))
        }
        #expect(result == "UNAUTHENTICATED INVALID_ACCESS_TOKEN", "\(length) characters")
      }
      #expect(await ending { () async throws(RPCError) in try await service.refresh(tokens.refreshToken) } == "OK")
    }
  }

  @Test(
    "Supabase #2624: a token that was dead before the database took a new form is dead afterwards, and kills its session",
    arguments: Set([2, AuthMigrations.all.count - 1]))
  func migrated(_ version: Int) async throws {
    let (google, clock) = (FakeGoogle(), VirtualClock())
    let shown = Mutex<Tokens?>(nil)
    try await BrokerDatabase.with { database in
      // Sessions are made by the service as it is, and brought into a database of an older form.
      try await BrokerFixture.with(database, google: google, clock: clock) { service in
        let first = try #require(try await service.signIn("ana").tokens?.refreshToken)
        let second = try await service.refresh(first)
        let third = try await service.refresh(second.refreshToken)
        let ended = try #require(try await service.signIn("bo").tokens)
        _ = try await service.auth.signOut(options: service.from("192.0.2.1", ended.accessToken))
        let alive = try #require(try await service.signIn("cleo").tokens?.refreshToken)
        let tokens = Tokens(first: first, third: third.refreshToken, ended: ended.refreshToken, alive: alive)
        shown.withLock { $0 = tokens }
      }
      try await database.migrate(from: version)
      try await BrokerFixture.with(database, google: google, clock: clock) { service in
        func refreshing(_ token: String) async -> String {
          await ending { () async throws(RPCError) in try await service.refresh(token) }
        }
        let tokens = try #require(shown.withLock { $0 })
        // Two behind: dead before, and whoever shows it now has a copy.
        #expect(await refreshing(tokens.first) == "UNAUTHENTICATED REFRESH_REUSED")
        #expect(await refreshing(tokens.third) == "UNAUTHENTICATED REFRESH_REUSED")
        #expect(await refreshing(tokens.ended) == "UNAUTHENTICATED SESSION_SIGNED_OUT")
        #expect(await refreshing(tokens.alive) == "OK")
        // Of another form of token nothing is taken, whatever else is right about it.
        for prefix in ["prt0_", "prt2_", "PRT1_", "prt1-", ""] {
          #expect(await refreshing(prefix + tokens.alive.dropFirst(5)) == "UNAUTHENTICATED INVALID_REFRESH_TOKEN")
        }
      }
    }
  }

  /// What clients have from before.
  private struct Tokens {
    let first: String
    let third: String
    let ended: String
    let alive: String
  }
}

extension BrokerDatabase {
  /// Makes the schema anew in the form that it had after so many migrations, with the accounts, sessions and keys that are there, and
  /// brings it to the form of today.
  fileprivate func migrate(from version: Int) async throws {
    let tables = [
      "account", "identity_lookup", "session", "session_lookup", "refresh_pepper", "signing_key", "revocation", "activity",
    ]
    try await script("create schema kept")
    for table in tables { try await script("create table kept.\(table) as table auth.\(table)") }
    try await script("drop schema auth cascade")
    try await migrate(upTo: version)
    for table in tables { try await restore(table) }
    try await migrate(upTo: AuthMigrations.all.count)
    for table in tables { try await restore(table) }
  }

  /// Fills a table, where there is one, with what was kept of it; what its form has no place for is left out.
  private func restore(_ table: String) async throws {
    try await script(
      """
      do $$
      declare columns text;
      begin
        if to_regclass('auth.\(table)') is null or to_regclass('kept.\(table)') is null then return; end if;
        delete from auth.\(table);
        select string_agg(quote_ident(c.column_name), ', ') into columns
        from information_schema.columns c join information_schema.columns k
          on k.table_schema = 'kept' and k.table_name = c.table_name and k.column_name = c.column_name
        where c.table_schema = 'auth' and c.table_name = '\(table)';
        execute format('insert into auth.\(table) (%s) overriding system value select %s from kept.\(table)', columns, columns);
        drop table kept.\(table);
        if '\(table)' = 'revocation' then
          perform setval(pg_get_serial_sequence('auth.revocation', 'cursor'), (select max(cursor) from auth.revocation));
        end if;
      end $$
      """)
  }

  private func migrate(upTo version: Int) async throws {
    let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    var owner = superuser
    owner.user = "parley_auth_owner"
    let (superuser, configuration) = (superuser, owner)
    try await withLoops(1) { group in
      try await Bootstrap(service: "auth").run(superuser, group: group, log: log)
      try await Migrator(schema: "auth", migrations: Array(AuthMigrations.all.prefix(version))).migrate(
        configuration, group: group, log: log)
    }
  }
}
