import JSON
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("What operators see of the work", .serialized)
struct JobProgressTests {
  @Test("JOB-M6: an operator sees in somebody's job what is being done, and how much of it there is")
  func progress() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      try await world.sandbox.control(.post, "hold", ["path": "/openai/v1/audio/transcriptions", "count": 2])
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 2), wait: .init()), options: OnboardingWorld.options(ana))
      try await world.sandbox.awaitHeld(2)
      let told = try await world.value(
        """
        select progress_note || ' ' || progress_done || '/' || progress_total from onboarding.job where kind = 'onboarding.process'
        """, as: String.self)
      #expect(told == "transcribing 0/2")
      try await world.sandbox.control(.delete, "hold")
    }
  }
}
