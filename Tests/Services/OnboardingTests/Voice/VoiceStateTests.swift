import AuthDomain
import EventLoop
import Foundation
import JOSE
import JSON
import MessagesCore
import OnboardingStore
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("How far a voice has come", .serialized)
struct VoiceStateTests {
  private static let adding = "/elevenlabs/v1/voices/add"

  private static func complete(
    _ world: OnboardingWorld, _ user: TestUser, wait: GoogleProtobuf.Duration? = nil
  ) async throws -> CompleteResponse {
    try await world.client.complete(
      .init(
        state: try OnboardingWorld.record(voices: 6), voiceConsent: .init(isGiven: true, statement: "v1"), wait: wait),
      options: OnboardingWorld.options(user))
  }

  private static func paid(_ world: OnboardingWorld) async throws -> Int64? {
    try await world.sandbox.effects("voices")["paid"]?.int64
  }

  /// Changes the voice of everybody in this world.
  private static func change(_ world: OnboardingWorld, _ statement: Query) async throws {
    try await world.parley.withDatabase { _ = try await $0.execute(statement) }
  }

  @Test("O-50: a voice that could not be made anew leaves the one before, takes no month, and operators may have it made")
  func failedAnew() async throws {
    try await OnboardingWorld.with(OnboardingWorld.operated) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let first = try #require(try await Self.complete(world, ana).voiceClone?.voiceID)
      func retry() async throws -> Bool {
        try await world.asOperator { admin in
          try await admin.retryVoiceClone(
            .init(userID: ana.userID.description), options: OnboardingWorld.withoutSession()
          ).isNew
        }
      }
      let refused = await #expect(throws: RPCError.self) { try await retry() }
      #expect(refused?.reason == "NOTHING_TO_RETRY", "nothing failed")
      try await world.sandbox.fail(Self.adding, ["status": 401, "count": 1_000])
      let begun = try await world.voices.cloneVoice(.init(idempotencyKey: "1"), options: options)
      #expect(begun.voice?.nextCloneAt != nil)
      try await eventually { try await world.voices.getVoice(options: options).voice?.state == .ready }
      let failed = try await world.voices.getVoice(options: options).voice
      #expect(failed?.voiceID == first && failed?.nextCloneAt == nil && failed?.failure.isEmpty == false, "\(failed as Any)")
      #expect(try await Self.paid(world) == 1)
      try await world.sandbox.control(.delete, "faults")
      #expect(try await retry())
      try await eventually {
        let voice = try await world.voices.getVoice(options: options).voice
        return voice?.state == .ready && voice?.voiceID != first
      }
      // What an operator has made is nobody's month, and the person still has theirs.
      #expect(try await world.voices.getVoice(options: options).voice?.nextCloneAt == nil)
      _ = try await world.voices.cloneVoice(.init(idempotencyKey: "2"), options: options)
      try await eventually { try await world.voices.getVoice(options: options).voice?.state == .ready }
      #expect(try await Self.paid(world) == 3)
      let more = await #expect(throws: RPCError.self) {
        try await world.voices.cloneVoice(.init(idempotencyKey: "3"), options: options)
      }
      #expect(more?.reason == "CLONE_LIMIT_REACHED")
    }
  }

  @Test("A voice whose job was lost is made by whoever asks once more")
  func askedAgain() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let first = try #require(try await Self.complete(world, ana).voiceClone?.voiceID)
      try await Self.change(world, "update onboarding.voice set state = 'cloning'")
      let asked = try await world.voices.cloneVoice(.init(idempotencyKey: "again"), options: options)
      #expect(asked.voice?.state == .cloning)
      try await eventually {
        let voice = try await world.voices.getVoice(options: options).voice
        return voice?.state == .ready && voice?.voiceID != first
      }
    }
  }

  @Test("A voice whose job was lost gets one again by itself, and one whose jobs are lost again and again comes to nothing")
  func lostJob() async throws {
    try await OnboardingWorld.with(["TENDING_INTERVAL": "50ms"]) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let first = try #require(try await Self.complete(world, ana).voiceClone?.voiceID)
      try await Self.change(world, "update onboarding.voice set state = 'cloning'")
      try await eventually {
        let voice = try await world.voices.getVoice(options: options).voice
        return voice?.state == .ready && voice?.voiceID != first
      }
      #expect(try await Self.paid(world) == 2)
      try await Self.change(world, "update onboarding.voice set state = 'cloning', renewals = 5")
      try await eventually { try await world.voices.getVoice(options: options).voice?.failure == "jobs_lost" }
      #expect(try await world.voices.getVoice(options: options).voice?.state == .ready)
      #expect(try await Self.paid(world) == 2)
    }
  }

  @Test("A consent that is taken back as the work on a submission ends is not written over")
  func takenBack() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      _ = try await Self.complete(world, ana)
      _ = try await world.voices.withdrawVoiceConsent(options: options)
      try await eventually { try await world.voices.getVoice(options: options).voice?.state == VoiceState.none }
      _ = try await world.voices.giveVoiceConsent(.init(statement: "v1"), options: options)
      try await world.sandbox.control(.post, "hold", ["path": "/openai/v1/chat/completions", "count": 1])
      var state = try OnboardingWorld.record(voices: 6)
      state.responses["18"] = .written("eleven times")
      _ = try await world.client.complete(.init(state: state, wait: .init()), options: options)
      try await world.sandbox.awaitHeld(1)
      try await world.parley.withDatabase { database in
        try await database.transaction { transaction in
          try await transaction.execute("select from onboarding.voice for update")
          try await world.sandbox.control(.delete, "hold")
          // The work has read the consent, and waits to begin a voice.
          try await eventually {
            try await world.value(
              """
              select count(*) from pg_stat_activity
              where datname = current_database() and wait_event_type = 'Lock' and query like '%onboarding.voice%'
              """, as: Int64.self) == 1
          }
          try await transaction.execute(
            "update onboarding.voice set consented_at = null, withdrawn_at = updated_at, state = 'none'")
        }
      }
      try await eventually { try await world.client.getSubmission(options: options).submission?.stage == .done }
      #expect(try await world.voices.getVoice(options: options).voice?.state == VoiceState.none)
      #expect(
        try await world.value("select count(*) from onboarding.job where kind = 'onboarding.clone'", as: Int64.self) == 0)
    }
  }

  @Test("A consent that is taken back before the provider fails leaves no failure, no warning and no round")
  func takenBackBeforeFailure() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await world.sandbox.control(.post, "hold", ["path": .string(Self.adding), "count": 1, "before": true])
      _ = try await Self.complete(world, ana, wait: .init())
      try await world.sandbox.awaitHeld(1)
      try await world.sandbox.fail(Self.adding, ["status": 401, "count": 1_000])
      _ = try await world.voices.withdrawVoiceConsent(options: options)
      try await world.sandbox.control(.delete, "hold")
      try await eventually { try await world.client.getSubmission(options: options).submission?.stage == .done }
      let submission = try await world.client.getSubmission(options: options).submission
      #expect(submission?.warnings.isEmpty == true, "\(submission as Any)")
      #expect(try await world.value("select state <> 'failed' from onboarding.voice", as: Bool.self) == true)
      #expect(
        try await world.value("select count(*) from onboarding.job where kind = 'onboarding.process'", as: Int64.self) == 0)
    }
  }
}
