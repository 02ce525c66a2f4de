import AuthDomain
import EventLoop
import MessagesCore
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

@Suite("Answers of devices whose clock is wrong", .serialized)
struct AnswerTimeTests {
  private static func now(_ world: OnboardingWorld) -> String {
    Instant(microseconds: world.parley.clock.unixSeconds * 1_000_000).description
  }

  /// Whether an answer to step 3 gives way to the one that is there.
  private static func save(_ answer: OnboardingAnswer, _ world: OnboardingWorld, _ options: CallOptions) async throws -> Bool {
    try await world.client.saveAnswer(.init(step: 3, answer: answer), options: options).isSuperseded
  }

  @Test("An answer that says it was given in the future gives way to whatever comes after it, one by one or claimed")
  func future() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      #expect(try await Self.save(.written("Ana of 2099", at: "2099-01-05T10:00:00Z"), world, options) == false)
      world.parley.clock.advance(by: .seconds(60))
      #expect(try await Self.save(.written("Ana", at: Self.now(world)), world, options) == false)
      #expect(try await Self.save(.written("Ana of 2098", at: "2098-01-05T10:00:00Z"), world, options) == false)
      world.parley.clock.advance(by: .seconds(60))
      let key = String(repeating: "k", count: 32)
      let state = OnboardingState(responses: ["3": .written("Anna", at: Self.now(world))])
      _ = try await world.client.saveAnonymousProgress(.init(progressKey: key, state: state))
      _ = try await world.client.claimAnonymousProgress(.init(progressKey: key), options: options)
      #expect(try await world.value("select value from onboarding.answer", as: String.self) == "Anna")
    }
  }

  @Test("An answer that is kept with a time in the future counts as given when it came")
  func kept() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let moment = Self.now(world)
      #expect(try await Self.save(.written("Ana", at: moment), world, options) == false)
      try await world.parley.withDatabase { database in
        _ = try await database.execute("update onboarding.answer set answered_at = '2099-01-05T10:00:00Z'")
      }
      #expect(try await Self.save(.written("An", at: "2026-01-05T10:00:00Z"), world, options))
      world.parley.clock.advance(by: .seconds(60))
      #expect(try await Self.save(.written("Anna", at: Self.now(world)), world, options) == false)
    }
  }
}
