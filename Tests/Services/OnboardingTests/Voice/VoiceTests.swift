import AuthDomain
import EventLoop
import Foundation
import JOSE
import JSON
import MessagesCore
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import TestParley
import TestSandbox
import TestSupport
import Testing
import Values
import WellKnown

@Suite("Voices", .serialized)
struct VoiceTests {
  private static func complete(_ world: OnboardingWorld, _ user: TestUser, consents: Bool) async throws -> CompleteResponse {
    try await world.client.complete(
      .init(
        state: try OnboardingWorld.record(voices: 6), voiceConsent: consents ? .init(isGiven: true, statement: "v1") : nil),
      options: OnboardingWorld.options(user))
  }

  private static func existing(_ world: OnboardingWorld) async throws -> Int64? {
    try await world.sandbox.effects("voices")["existing"]?.int64
  }

  @Test("O-33: a voice is made of the longest recordings for those who agreed, and of nobody else's")
  func consent() async throws {
    try await OnboardingWorld.with { world in
      let (ana, ben) = (try await world.signIn("ana"), try await world.signIn("ben"))
      let without = try await Self.complete(world, ben, consents: false)
      #expect(without.voiceClone?.success == false && without.voiceClone?.error == "no_consent")
      #expect(try await Self.existing(world) == 0)
      let refused = await #expect(throws: RPCError.self) {
        try await world.voices.cloneVoice(.init(idempotencyKey: "1"), options: OnboardingWorld.options(ben))
      }
      #expect(refused?.reason == "CONSENT_REQUIRED")
      let with = try await Self.complete(world, ana, consents: true)
      #expect(with.voiceClone?.success == true && with.voiceClone?.voiceID?.isEmpty == false, "\(with)")
      #expect(try await Self.existing(world) == 1)
      // Taken back, it is gone at the provider.
      let withdrawn = try await world.voices.withdrawVoiceConsent(options: OnboardingWorld.options(ana))
      #expect(withdrawn.voice?.consentedAt == nil && withdrawn.voice?.voiceID == "")
      try await eventually { try await Self.existing(world) == 0 }
      try await eventually {
        try await world.voices.getVoice(options: OnboardingWorld.options(ana)).voice?.state == VoiceState.none
      }
    }
  }

  @Test("O-50: a voice is made anew once a month, and the one before is deleted")
  func anew() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let first = try await Self.complete(world, ana, consents: true).voiceClone?.voiceID
      // The first voice does not count.
      #expect(try await world.voices.getVoice(options: options).voice?.nextCloneAt == nil)
      let anew = try await world.voices.cloneVoice(.init(idempotencyKey: "once"), options: options)
      // 2027-02-01: the tests' clock is in January.
      #expect(anew.voice?.nextCloneAt == .init(seconds: 1_801_440_000), "\(anew)")
      try await eventually {
        let voice = try await world.voices.getVoice(options: options).voice
        return voice?.state == .ready && voice?.voiceID != first
      }
      try await eventually { try await Self.existing(world) == 1 }
      let more = await #expect(throws: RPCError.self) {
        try await world.voices.cloneVoice(.init(idempotencyKey: "twice"), options: options)
      }
      #expect(more?.code == .resourceExhausted && more?.reason == "CLONE_LIMIT_REACHED")
      #expect(try await world.post("/voice/clone", [], as: ana).status == 429)
      #expect(try await world.sandbox.effects("voices")["paid"]?.int64 == 2)
    }
  }

  @Test("A voice may be made anew from next_clone_at on, and not a microsecond earlier")
  func month() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      _ = try await Self.complete(world, ana, consents: true)
      _ = try await world.voices.cloneVoice(.init(idempotencyKey: "january"), options: OnboardingWorld.options(ana))
      try await eventually {
        try await world.voices.getVoice(options: OnboardingWorld.options(ana)).voice?.state == .ready
      }
      let voice = try #require(try await world.voices.getVoice(options: OnboardingWorld.options(ana)).voice)
      let opening = try #require(voice.nextCloneAt)
      world.parley.clock.advance(by: .seconds(opening.seconds) - world.parley.clock.now - .microseconds(1))
      let early = OnboardingWorld.options(try await world.signIn("ana"))
      let refused = await #expect(throws: RPCError.self) {
        try await world.voices.cloneVoice(.init(idempotencyKey: "early"), options: early)
      }
      #expect(refused?.reason == "CLONE_LIMIT_REACHED")
      world.parley.clock.advance(by: .microseconds(1))
      let again = try await world.voices.cloneVoice(.init(idempotencyKey: "february"), options: early)
      // 2027-03-01
      #expect(again.voice?.state == .cloning && again.voice?.nextCloneAt == .init(seconds: 1_803_859_200), "\(again)")
      // Who had one is not at the beginning again by withdrawing it.
      let withdrawn = try await world.voices.withdrawVoiceConsent(options: early)
      #expect(withdrawn.voice?.nextCloneAt == .init(seconds: 1_803_859_200))
    }
  }

  @Test(
    "O-50: taking the consent back and giving it again is no way to a voice more in a month, neither by itself nor with new answers"
  )
  func withdrawn() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      func begin(_ key: String) async throws {
        _ = try await world.voices.withdrawVoiceConsent(options: options)
        _ = try await world.voices.giveVoiceConsent(.init(statement: "v1"), options: options)
        _ = try await world.voices.cloneVoice(.init(idempotencyKey: key), options: options)
      }
      func paid() async throws -> Int64? { try await world.sandbox.effects("voices")["paid"]?.int64 }
      _ = try await Self.complete(world, ana, consents: true)
      try await begin("second")
      try await eventually { try await world.voices.getVoice(options: options).voice?.state == .ready }
      #expect(try await paid() == 2)
      let third = await #expect(throws: RPCError.self) { try await begin("third") }
      #expect(third?.reason == "CLONE_LIMIT_REACHED")
      // The consent of `begin` stands, and there is no voice.
      var state = try OnboardingWorld.record(voices: 6)
      state.responses["18"] = .written("eleven times")
      let answer = try await world.client.complete(.init(state: state), options: options)
      #expect(answer.submission?.stage == .done && answer.voiceClone?.error == "clone_limit_reached", "\(answer)")
      #expect(answer.submission?.warnings.map(\.reason) == ["voice_clone_failed"])
      #expect(try await paid() == 2)
      #expect(try await world.voices.getVoice(options: options).voice?.nextCloneAt == .init(seconds: 1_801_440_000))
      // In the next month new answers bring a voice, by the job of those who ask for one, and it counts.
      world.parley.clock.advance(by: .seconds(1_801_440_000) - world.parley.clock.now)
      let later = OnboardingWorld.options(try await world.signIn("ana"))
      state.responses["18"]?.value = .written("twelve times")
      let again = try await world.client.complete(.init(state: state), options: later)
      #expect(again.submission?.stage == .done && again.submission?.warnings.isEmpty == true, "\(again)")
      try await eventually {
        // It gives way to the work on the submission for two seconds at a time.
        world.parley.clock.advance(by: .seconds(2))
        return try await world.voices.getVoice(options: later).voice?.state == .ready
      }
      #expect(try await paid() == 3)
      let fourth = await #expect(throws: RPCError.self) {
        try await world.voices.cloneVoice(.init(idempotencyKey: "fourth"), options: later)
      }
      #expect(fourth?.reason == "CLONE_LIMIT_REACHED")
    }
  }

  @Test("A voice that becomes unwanted while the provider deletes another one is deleted too")
  func unwantedMeanwhile() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      _ = try await Self.complete(world, ana, consents: true)
      try await world.sandbox.control(.post, "hold", ["path": "/elevenlabs/voice-deletion", "count": 1])
      _ = try await world.voices.withdrawVoiceConsent(options: options)
      try await world.sandbox.awaitHeld(1)
      _ = try await world.voices.giveVoiceConsent(.init(statement: "v2"), options: options)
      _ = try await world.voices.cloneVoice(.init(idempotencyKey: "another"), options: options)
      try await eventually { try await world.voices.getVoice(options: options).voice?.state == .ready }
      _ = try await world.voices.withdrawVoiceConsent(options: options)
      try await world.sandbox.control(.delete, "hold")
      try await eventually { try await world.voices.getVoice(options: options).voice?.state == VoiceState.none }
      #expect(try await Self.existing(world) == 0)
      #expect(try await world.value("select count(*) from onboarding.unwanted_voice", as: Int64.self) == 0)
    }
  }

  @Test("An unwanted voice whose job was lost is deleted all the same")
  func lostJob() async throws {
    try await OnboardingWorld.with(["TENDING_INTERVAL": "50ms"]) { world in
      let ana = try await world.signIn("ana")
      _ = try await Self.complete(world, ana, consents: true)
      #expect(try await Self.existing(world) == 1)
      try await world.parley.withDatabase { database in
        _ = try await database.execute(
          """
          with gone as (
            update onboarding.voice set voice_id = null, state = 'deleting', consented_at = null
            from (select user_id, voice_id from onboarding.voice) as before where before.user_id = voice.user_id
            returning before.user_id, before.voice_id)
          insert into onboarding.unwanted_voice (user_id, voice_id, since) select user_id, voice_id, '2001-01-01' from gone
          """)
      }
      try await eventually {
        try await world.voices.getVoice(options: OnboardingWorld.options(ana)).voice?.state == VoiceState.none
      }
      #expect(try await Self.existing(world) == 0)
    }
  }

  @Test("O-49: recordings are listed by step with their words, and somebody else's are refused")
  func clips() async throws {
    try await OnboardingWorld.with { world in
      let (ana, ben) = (try await world.signIn("ana"), try await world.signIn("ben"))
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 2)), options: OnboardingWorld.options(ana))
      let listed = try await world.post("/api/identity/voice-clips/\(ana.userID)", [], as: ana, [:], method: .get)
      #expect(listed.status == 200)
      let clips = try #require(listed.body["clips"]?.array)
      #expect(clips.compactMap { $0["stepId"]?.int64 } == [2, 5])
      #expect(clips.allSatisfy { $0["transcription"]?.string?.hasPrefix("words of") == true && $0["duration"] != nil })
      #expect(try await world.post("/api/identity/voice-clips/\(ana.userID)", [], as: ben, [:], method: .get).status == 403)
    }
  }
}
