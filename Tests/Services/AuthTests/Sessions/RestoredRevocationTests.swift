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

  private static func profile(_ service: BrokerFixture, _ tokens: SessionTokens) async -> String {
    await ending { () async throws(RPCError) in
      try await service.auth.getProfile(options: service.from("192.0.2.1", tokens.accessToken))
    }
  }
}
