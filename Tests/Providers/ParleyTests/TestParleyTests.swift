import AuthDomain
import ParleyAPI
import RPC
import RPCClient
import TestParley
import TestSupport
import Testing

@Suite("People who are signed in with a line", .serialized)
struct TestParleyTests {
  @Test("They are accounts and sessions like any others: profile, sessions, refresh, signing out")
  func real() async throws {
    try await TestParley.with { parley in
      let ana = try await parley.signIn("ana")
      let client = ParleyAPI.AuthService.Client(parley.channel)
      let profile = try await client.getProfile(options: ana.options).profile
      #expect(profile?.userID == ana.userID.description && profile?.name == "ana" && profile?.email == "ana@example.org")
      let again = try await parley.signIn("ana")
      #expect(again.userID == ana.userID && again.sessionID != ana.sessionID)
      #expect(try await client.listSessions(options: ana.options).sessions.count == 2)
      parley.clock.advance(by: .seconds(361))
      let late = await #expect(throws: RPCError.self) { try await client.getProfile(options: ana.options) }
      #expect(late?.reason == "ACCESS_TOKEN_EXPIRED")
      let next = try await client.refreshSession(.init(refreshToken: ana.tokens.refreshToken, attempt: "0123456789abcdef"))
      #expect(next.tokens?.sessionID == ana.sessionID.description)
      let fresh = CallOptions(metadata: ["authorization": "Bearer \(next.tokens?.accessToken ?? "")"])
      _ = try await client.signOut(options: fresh)
      #expect(try await client.listSessions(options: parley.signIn("ana").options).sessions.count == 2)
    }
  }

  @Test("Three copies of the auth service are one: a session of one is refreshed at another and known to the third")
  func copies() async throws {
    try await TestParley.with { parley in
      try await parley.withCopies(2) { channels in
        #expect(channels.count == 3)
        let ana = try await parley.signIn("ana", at: channels[1])
        let (second, third) = (ParleyAPI.AuthService.Client(channels[0]), ParleyAPI.AuthService.Client(channels[2]))
        let next = try await second.refreshSession(.init(refreshToken: ana.tokens.refreshToken, attempt: "0123456789abcdef"))
        #expect(next.tokens?.sessionID == ana.sessionID.description)
        #expect(try await third.getProfile(options: ana.options).profile?.userID == ana.userID.description)
      }
    }
  }
}
