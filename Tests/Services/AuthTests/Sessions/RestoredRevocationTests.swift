import ParleyAPI
import PostgreSQL
import RPC
import TestSupport
import Testing

@Suite("Revocations after a restore of the database", .serialized)
struct RestoredRevocationTests {
  @Test(
    "After a point-in-time restore without a restart no token passes whose session ended since, though its number was used before (AF-08)",
    arguments: [1, 2, 3, 9])
  func restored(added: Int) async throws {
    try await SignInTests.with { service, database in
      // The feed has gone on to its third row.
      for number in 0..<3 {
        let tokens = try #require(try await service.signIn("u\(number)").tokens)
        _ = try await service.auth.signOut(options: service.from("192.0.2.1", tokens.accessToken))
        try await eventually { await Self.profile(service, tokens) != "OK" }
      }
      let ana = try #require(try await service.signIn("ana").tokens)
      #expect(await Self.profile(service, ana) == "OK")
      // The database is one of before, and numbers begin again; hers comes first, whatever comes with it.
      try await database.script(
        """
        begin;
        truncate auth.revocation restart identity;
        insert into auth.revocation (session_id, cause, matters_until)
          select id, 'revoked', to_timestamp(4000000000) from auth.session where ended_at is null;
        insert into auth.revocation (session_id, cause, matters_until)
          select gen_random_uuid(), 'revoked', to_timestamp(4000000000) from generate_series(2, \(added));
        commit;
        """)
      try await eventually { await Self.profile(service, ana) == "UNAUTHENTICATED SESSION_REVOKED" }
    }
  }

  @Test(
    "A watcher that comes back after a restore is told of every session that ended, though its number was used before (AF-08)",
    arguments: [1, 2, 3, 9])
  func watched(added: Int) async throws {
    try await SignInTests.with { service, database in
      let directory = SessionDirectoryService.Client(service.services)
      for number in 0..<3 {
        let tokens = try #require(try await service.signIn("u\(number)").tokens)
        _ = try await service.auth.signOut(options: service.from("192.0.2.1", tokens.accessToken))
      }
      let place = try await Self.first(directory, WatchRevocationsRequest())
      #expect(place.sessions.count == 3 && place.cursor == 3)
      #expect(place.cursorSessionID == place.sessions.last?.sessionID && !place.cursorSessionID.isEmpty)
      let resume = WatchRevocationsRequest(cursor: place.cursor, cursorSessionID: place.cursorSessionID)
      // Nothing was turned back: it goes on where it was, and so does its heartbeat.
      let same = try await Self.first(directory, resume)
      #expect(same.sessions.isEmpty && same.cursor == 3 && same.cursorSessionID == place.cursorSessionID)
      // The database is one of before, and numbers begin again, for others.
      try await database.script(
        """
        begin;
        truncate auth.revocation restart identity;
        insert into auth.revocation (session_id, cause, matters_until)
          select gen_random_uuid(), 'revoked', to_timestamp(4000000000) from generate_series(1, \(added));
        commit;
        """)
      let ended: Set<String> = Set(try await database.values("select session_id::text from auth.revocation"))
      let after = try await Self.first(directory, resume)
      #expect(Set(after.sessions.map(\.sessionID)) == ended && after.cursor == Int64(added))
      // What is no session's name is believed as little.
      let rubbish = try await Self.first(directory, WatchRevocationsRequest(cursor: 3, cursorSessionID: "rubbish"))
      #expect(Set(rubbish.sessions.map(\.sessionID)) == ended)
    }
  }

  /// What a watcher is told first.
  private static func first(
    _ directory: SessionDirectoryService.Client, _ request: WatchRevocationsRequest
  ) async throws -> WatchRevocationsResponse {
    try await directory.watchRevocations(request, options: .timeout(.seconds(40))) { stream in
      var stream = stream
      return try #require(try await stream.next())
    }
  }

  private static func profile(_ service: BrokerFixture, _ tokens: SessionTokens) async -> String {
    await ending { () async throws(RPCError) in
      try await service.auth.getProfile(options: service.from("192.0.2.1", tokens.accessToken))
    }
  }
}
