import EventLoop
import JSON
import Outbound
import ParleyAPI
import RPC
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import Testing

@Suite("What operators see of onboarding", .serialized)
struct MetricsTests {
  @Test("Rounds, failures by reason, words, understanding and voices are counted, and how long a voice outlives its consent")
  func counted() async throws {
    try await OnboardingWorld.with(["ADMIN_LISTEN": "127.0.0.1:0"]) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await world.sandbox.fail("/openai/v1/audio/transcriptions", ["status": 401, "count": 1])
      let answer = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 6), voiceConsent: .init(isGiven: true, statement: "v1")),
        options: options)
      #expect(answer.identityExtraction?.voiceTranscribed == 5)
      let failures = "parley_onboarding_failures_total"
      #expect(try await world.metric("\(failures){part=\"transcribe\",reason=\"unauthorized\"}") == 1)
      #expect(try await world.metric("\(failures){part=\"clone\",reason=\"server_failed\"}") == 0)
      #expect(try await world.metric("parley_onboarding_transcriptions_total{outcome=\"done\"}") == 5)
      #expect(try await world.metric("parley_onboarding_transcriptions_total{outcome=\"failed\"}") == 1)
      #expect(try await world.metric("parley_onboarding_extractions_total{outcome=\"ok\"}") == 1)
      #expect(try await world.metric("parley_onboarding_voices_total") == 1)
      try await eventually { try await world.metric("parley_onboarding_rounds_total{outcome=\"partly\"}") == 1 }
      #expect(try await world.metric("parley_onboarding_owed_deletions_seconds{kind=\"voice\"}") == 0)

      // The provider does not delete what it is told to.
      try await world.sandbox.fail("/elevenlabs/voice-deletion", ["status": 500])
      _ = try await world.voices.withdrawVoiceConsent(options: options)
      try await eventually { try await world.sandbox.requests("/elevenlabs/voice-deletion") > 0 }
      world.parley.clock.advance(by: .seconds(7 * 3_600))
      try await eventually {
        try await world.metric("parley_onboarding_owed_deletions_seconds{kind=\"voice\"}") ?? 0 >= 7 * 3_600
      }
    }
  }
}
