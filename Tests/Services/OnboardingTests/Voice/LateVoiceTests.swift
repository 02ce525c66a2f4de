import AuthDomain
import EventLoop
import JSON
import MessagesCore
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import Synchronization
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("Voices that come of calls that were cut", .serialized)
struct LateVoiceTests {
  /// What becomes of the person between the call that was cut and the end of it at the provider.
  enum Turn: String, CaseIterable, Sendable {
    case stays
    case withdraws
    case leaves
  }

  private static let adding = "/elevenlabs/v1/voices/add"

  private static func existing(_ world: OnboardingWorld) async throws -> [String] {
    let voices = try await world.sandbox.control(.get, "elevenlabs/voices")["voices"]?.array ?? []
    return voices.compactMap { $0["voice_id"]?.string }
  }

  private static func expected(_ world: OnboardingWorld) async throws -> Int64? {
    try await world.value("select count(*) from onboarding.expected_voice", as: Int64.self)
  }

  /// Somebody whose voice the provider was asked for. It goes on with that whatever becomes of the caller, until it is let go.
  private static func ask(_ world: OnboardingWorld) async throws -> TestUser {
    let ana = try await world.signIn("ana")
    try await world.sandbox.control(
      .post, "hold", ["path": .string(adding), "count": 1, "before": true, "outlastsCaller": true])
    _ = try await world.client.complete(
      .init(
        state: try OnboardingWorld.record(voices: 6), voiceConsent: .init(isGiven: true, statement: "v1"), wait: .init()),
      options: OnboardingWorld.options(ana))
    try await world.sandbox.awaitHeld(1)
    return ana
  }

  /// The voice that came of the second call, once it is there.
  private static func ready(_ world: OnboardingWorld) async throws -> String {
    let made = Mutex("")
    try await eventually {
      let voice: String? = try await world.value("select voice_id from onboarding.voice where state = 'ready'", as: String.self)
      made.withLock { $0 = voice ?? "" }
      return voice != nil
    }
    return made.withLock { $0 }
  }

  /// The provider ends the first call fourteen minutes after the second; then time passes until nothing is looked for any more.
  private static func end(_ world: OnboardingWorld, _ turn: Turn) async throws {
    let made = try await ready(world)
    #expect(try await existing(world) == [made])
    #expect(try await expected(world) == 1, "another one may come")
    switch turn {
    case .stays: break
    case .withdraws:
      let ana = try await world.signIn("ana")
      _ = try await world.voices.withdrawVoiceConsent(options: OnboardingWorld.options(ana))
    case .leaves: try await world.deleteAccount(of: try await world.signIn("ana"))
    }
    world.parley.clock.advance(by: .seconds(14 * 60))
    try await world.sandbox.control(.delete, "hold")
    try await eventually { try await world.sandbox.effects("voices")["paid"]?.int64 == 2 }
    try await eventually {
      world.parley.clock.advance(by: .seconds(60))
      return try await expected(world) == 0
    }
    try await eventually { try await world.value("select count(*) from onboarding.unwanted_voice", as: Int64.self) == 0 }
    #expect(try await existing(world) == (turn == .stays ? [made] : []))
    let jobs: Int64? = try await world.value("select count(*) from onboarding.job where kind = 'onboarding.find-voices'")
    #expect(jobs == 0)
    guard turn == .stays else { return }
    let voice = try await world.voices.getVoice(options: OnboardingWorld.options(try await world.signIn("ana"))).voice
    #expect(voice?.state == .ready && voice?.voiceID == made)
  }

  @Test(
    "O-33: a clone call that was cut and made again leaves no second voice, however late it ends (OF-02)",
    arguments: Turn.allCases)
  func doubled(turn: Turn) async throws {
    try await OnboardingWorld.with(["JOBS_LEASE": "6s"]) { world in
      _ = try await Self.ask(world)
      // The run loses its lease, by which its call is cut; the next one makes the same call.
      world.parley.clock.advance(by: .seconds(7))
      try await Self.end(world, turn)
    }
  }

  @Test(
    "O-33: a clone call that the end of a process cut leaves no second voice, however late it ends (OF-02)",
    arguments: Turn.allCases)
  func restarted(turn: Turn) async throws {
    try await OnboardingWorld.restarting(doing: [
      { world in _ = try await Self.ask(world) }, { world in try await Self.end(world, turn) },
    ])
  }

  @Test(
    "A withdrawal or a deletion between the two calls leaves no voice of the first (OF-02)", arguments: [Turn.withdraws, .leaves])
  func before(turn: Turn) async throws {
    try await OnboardingWorld.restarting(doing: [
      { world in
        let ana = try await Self.ask(world)
        if turn == .leaves {
          try await world.deleteAccount(of: ana)
        } else {
          _ = try await world.voices.withdrawVoiceConsent(options: OnboardingWorld.options(ana))
        }
      },
      { world in
        // The attempt of three minutes may be cut at its end, and what the provider makes of it comes a quarter of an hour later.
        world.parley.clock.advance(by: .seconds(180 + 14 * 60))
        try await world.sandbox.control(.delete, "hold")
        try await eventually { try await world.sandbox.effects("voices")["paid"]?.int64 == 1 }
        try await eventually {
          world.parley.clock.advance(by: .seconds(60))
          return try await Self.expected(world) == 0
        }
        #expect(try await Self.existing(world).isEmpty)
      },
    ])
  }
}
