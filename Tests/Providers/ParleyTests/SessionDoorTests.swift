import AuthDomain
import DemoService
import EventLoop
import ParleyAPI
import RPC
import RPCClient
import ServiceKit
import TestAPI
import TestParley
import TestSupport
import Testing

/// A second service that knows the auth service by its key set and its stream of ended sessions only.
@Suite("Sessions in a second service", .serialized)
struct SessionDoorTests {
  private static func refusal(_ channel: ClientChannel, _ user: TestUser) async -> RPCError? {
    do throws(RPCError) {
      _ = try await EchoService.Client(channel).guarded(options: user.options)
      return nil
    } catch { return error }
  }

  @Test("B-48: somebody who is signed in is known to a second service, and nobody else is")
  func known() async throws {
    try await TestParley.with { parley in
      let ana = try await parley.signIn("ana")
      let ben = try await parley.signIn("ben")
      try await parley.with(DemoService.self) { _, channel in
        for user in [ana, ben, ana] {
          let response = try await EchoService.Client(channel).guarded(options: user.options)
          #expect(response.caller == user.userID.description)
        }
        let nobody = await #expect(throws: RPCError.self) { try await EchoService.Client(channel).guarded() }
        #expect(nobody?.code == .unauthenticated && nobody?.reason == "MISSING_AUTHORIZATION")
        parley.clock.advance(by: .seconds(361))
        #expect(await Self.refusal(channel, ana)?.reason == "ACCESS_TOKEN_EXPIRED")
      }
    }
  }

  @Test("AUTH-M4: a session that is ended is refused by a second service within 5 s, with the reason; others go on")
  func revoked() async throws {
    try await TestParley.with { parley in
      let ana = try await parley.signIn("ana")
      let ben = try await parley.signIn("ben")
      try await parley.with(DemoService.self) { _, channel in
        #expect(await Self.refusal(channel, ana) == nil)
        parley.end(ana, .refreshReused)
        // Until the stream is heard, calls ask, and a question that nobody answers in time is another refusal.
        try await eventually(atMost: .seconds(5)) { await Self.refusal(channel, ana)?.reason == "REFRESH_REUSED" }
        #expect(await Self.refusal(channel, ana)?.code == .unauthenticated)
        #expect(await Self.refusal(channel, ben) == nil)
      }
    }
  }

  @Test("AUTH-M4: while the stream is silent every call is asked after, and without an answer nobody is let in")
  func silent() async throws {
    try await TestParley.with { parley in
      let ana = try await parley.signIn("ana")
      let ben = try await parley.signIn("ben")
      try await parley.with(DemoService.self) { _, channel in
        // The stream is heard: a call asks nobody. Until then calls ask anyway, and a heartbeat may still be on its way.
        try await eventually(atMost: .seconds(30)) {
          let asked = parley.directory.questions
          _ = await Self.refusal(channel, ana)
          return parley.directory.questions == asked
        }
        #expect(await Self.refusal(channel, ana) == nil)
        parley.directory.set(.silent)
        let before = parley.directory.questions
        try await eventually(atMost: .seconds(30)) {
          _ = await Self.refusal(channel, ben)
          return parley.directory.questions > before
        }
        #expect(await Self.refusal(channel, ana) == nil)
        parley.end(ana)
        #expect(await Self.refusal(channel, ana)?.reason == "SESSION_REVOKED")
        #expect(await Self.refusal(channel, ben) == nil)
        parley.directory.set(.away)
        let refusal = await Self.refusal(channel, ben)
        #expect(refusal?.code == .unavailable && refusal?.reason == "REVOCATIONS_UNAVAILABLE")
        // It comes back by itself, and with the cause.
        parley.directory.set(.none)
        try await eventually(atMost: .seconds(30)) { await Self.refusal(channel, ana)?.reason == "SESSION_SIGNED_OUT" }
        #expect(await Self.refusal(channel, ben) == nil)
      }
    }
  }

  @Test("A stream that breaks is opened again where it was")
  func resumed() async throws {
    try await TestParley.with { parley in
      let ana = try await parley.signIn("ana")
      try await parley.with(DemoService.self) { _, channel in
        parley.end(ana)
        try await eventually(atMost: .seconds(20)) { await Self.refusal(channel, ana)?.reason == "SESSION_SIGNED_OUT" }
        parley.directory.breakStreams()
        try await eventually(atMost: .seconds(20)) { parley.directory.cursors.count > 1 }
        #expect(parley.directory.cursors.first == 0 && parley.directory.cursors.last == 1)
        // The number alone would be another session's after a restore of the database (AF-08).
        #expect(parley.directory.cursorSessions.first == "" && parley.directory.cursorSessions.last == ana.sessionID.description)
      }
    }
  }

  @Test("A rotation of the keys is no event: tokens of the old key and of the new one pass")
  func rotation() async throws {
    try await TestParley.with { parley in
      try await parley.with(DemoService.self) { _, channel in
        for _ in 0..<4 {
          let user = try await parley.signIn("ana")
          #expect(await Self.refusal(channel, user) == nil)
          parley.clock.advance(by: .seconds(15 * 86_400))
        }
      }
    }
  }

  @Test("Without a certificate that the auth service knows, nobody is let in")
  func stranger() async throws {
    try await TestParley.with { parley in
      let ana = try await parley.signIn("ana")
      let without = ["AUTH_CLIENT_CERTIFICATE": "", "AUTH_CLIENT_KEY": ""]
      try await parley.with(DemoService.self, settings: without) { _, channel in
        #expect(await Self.refusal(channel, ana)?.reason == "REVOCATIONS_UNAVAILABLE")
      }
    }
  }
}
