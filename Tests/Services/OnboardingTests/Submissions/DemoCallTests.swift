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
import WellKnown

@Suite("The demo call", .serialized)
struct DemoCallTests {
  private static func submit(_ world: OnboardingWorld, _ user: TestUser, _ text: String) async throws {
    let answer = try await world.client.complete(
      .init(state: .init(responses: ["9": .written(text)])), options: OnboardingWorld.options(user))
    #expect(answer.submission?.stage == .done, "\(answer)")
  }

  private static func count(_ world: OnboardingWorld, of kind: String) async throws -> Int64? {
    try await world.value("select count(*) from onboarding.job where kind = \(kind)", as: Int64.self)
  }

  /// Waits until nobody is about to be offered a demo call.
  private static func settled(_ world: OnboardingWorld) async throws {
    try await eventually { try await count(world, of: "onboarding.offer-demo") == 0 }
  }

  @Test("O-53: the demo call is rung once for a person, however often answers are submitted after it (OF-07)")
  func once() async throws {
    try await OnboardingWorld.with { world in
      let (ana, ben) = (try await world.signIn("ana"), try await world.signIn("ben"))
      for user in [ana, ben] { try await Self.submit(world, user, "evenings") }
      try await Self.settled(world)
      #expect(try await Self.count(world, of: "calls.demo") == 2)
      // Whoever rings it is done with it.
      try await world.execute(["delete from onboarding.job where kind = 'calls.demo'"])
      for text in ["mornings", "nights"] { try await Self.submit(world, ana, text) }
      try await Self.settled(world)
      #expect(try await Self.count(world, of: "calls.demo") == 0, "no second one is left to be rung")
      #expect(try await world.value("select count(*) from onboarding.effect", as: Int64.self) == 2)
      // The ledger is a person's, and goes with the account.
      let deleted = try await world.deleteAccount(of: ana)
      #expect(deleted.kinds.first { $0.kind == "effects" }?.deleted == 1, "\(deleted)")
      #expect(try await world.value("select count(*) from onboarding.effect", as: Int64.self) == 1)
    }
  }

  @Test("O-53: who has the starter plan gets no demo call, and who changes to the normal plan gets one then (OF-07)")
  func plan() async throws {
    try await OnboardingWorld.with(["STARTER_PRODUCTS": "starter_weekly, starter_trial"]) { world in
      let ana = try await world.signIn("ana")
      world.parley.subscribe(ana, to: "starter_weekly")
      try await Self.submit(world, ana, "evenings")
      try await Self.settled(world)
      #expect(try await Self.count(world, of: "calls.demo") == 0)
      world.parley.subscribe(ana, to: "normal_weekly")
      try await Self.submit(world, ana, "mornings")
      try await Self.settled(world)
      #expect(try await Self.count(world, of: "calls.demo") == 1)
    }
  }

  @Test("O-53: while nobody can say which plan it is no call is made, no submission waits, and none is lost (OF-07)")
  func unknown() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      world.parley.hideProducts(true)
      try await Self.submit(world, ana, "evenings")
      try await eventually {
        let failed: String? = try await world.value(
          "select last_error from onboarding.job where kind = 'onboarding.offer-demo' and holder is null and attempt = 0")
        return failed == "the plan is not known"
      }
      #expect(try await Self.count(world, of: "calls.demo") == 0)
      world.parley.hideProducts(false)
      try await eventually {
        if try await Self.count(world, of: "calls.demo") == 1 { return true }
        try await world.pass(.seconds(31))
        return false
      }
    }
  }
}
