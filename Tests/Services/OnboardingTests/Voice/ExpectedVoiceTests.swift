import AuthDomain
import EventLoop
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

@Suite("Voices that come too late", .serialized)
struct ExpectedVoiceTests {
  /// A run that is overtaken does not notice for a while.
  private static let settings = ["JOBS_LEASE": "600s"]
  private static let adding = "/elevenlabs/v1/voices/add"
  private static let listing = "/elevenlabs/v2/voices"

  private static func existing(_ world: OnboardingWorld) async throws -> Int64? {
    try await world.sandbox.effects("voices")["existing"]?.int64
  }

  private static func expected(_ world: OnboardingWorld) async throws -> Int64? {
    try await world.value("select count(*) from onboarding.expected_voice", as: Int64.self)
  }

  /// Somebody whose voice is being made this moment: the provider has the request and answers nothing.
  private static func inTheMaking(_ world: OnboardingWorld, isBefore: Bool) async throws -> TestUser {
    let ana = try await world.signIn("ana")
    try await world.sandbox.control(
      .post, "hold", ["path": .string(adding), "count": 1, "before": .bool(isBefore)])
    _ = try await world.client.complete(
      .init(
        state: try OnboardingWorld.record(voices: 6), voiceConsent: .init(isGiven: true, statement: "v1"), wait: .init()),
      options: OnboardingWorld.options(ana))
    try await world.sandbox.awaitHeld(1)
    #expect(try await expected(world) == 1)
    return ana
  }

  /// Moves the clock on, look by look, until nothing is looked for any more.
  private static func lookToTheEnd(_ world: OnboardingWorld) async throws {
    try await eventually {
      world.parley.clock.advance(by: .seconds(60))
      return try await expected(world) == 0
    }
  }

  @Test("A voice that comes to be after the account was deleted is found by its label and deleted", arguments: [true, false])
  func deletion(isBefore: Bool) async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let ana = try await Self.inTheMaking(world, isBefore: isBefore)
      let user = ana.userID.description
      try await world.withAccountData { data in
        let options = OnboardingWorld.withoutSession()
        #expect(try await data.report(.init(userID: user), options: options).kinds.contains { $0.kind == "voices_in_the_making" })
        let asked = try await world.sandbox.requests(Self.listing)
        let deleted = try await data.delete(.init(userID: user, workID: UUID.v7().description), options: options)
        var reasons: [String: String] = [:]
        for kind in deleted.kinds where kind.held > 0 { reasons[kind.kind] = kind.whyHeld }
        #expect(reasons.keys.sorted() == ["deletions", "voices_in_the_making"], "\(deleted)")
        #expect(reasons.values.allSatisfy { !$0.isEmpty })
        // It is looked for, and nothing is there yet, or what the provider had made already is deleted.
        try await eventually { try await world.sandbox.requests(Self.listing) > asked }
        if !isBefore { try await eventually { try await Self.existing(world) == 0 } }
        #expect(try await Self.expected(world) == 1, "another may come")
        try await world.sandbox.control(.delete, "hold")
        try await eventually { try await world.sandbox.effects("voices")["paid"]?.int64 == 1 }
        try await Self.lookToTheEnd(world)
        #expect(try await Self.existing(world) == 0)
        #expect(try await data.report(.init(userID: user), options: options).kinds.filter { $0.kind != "deletions" }.isEmpty)
        let jobs: Int64? = try await world.value("select count(*) from onboarding.job where kind = 'onboarding.find-voices'")
        #expect(jobs == 0)
      }
    }
  }

  @Test("A look that the provider does not answer is repeated, and the last one is not before the end of the time")
  func away() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let ana = try await Self.inTheMaking(world, isBefore: false)
      try await world.sandbox.fail(Self.listing, ["status": 429, "count": 1_000])
      try await world.deleteAccount(of: ana)
      let asked = try await world.sandbox.requests(Self.listing)
      world.parley.clock.advance(by: .seconds(3_600))
      try await eventually { try await world.sandbox.requests(Self.listing) > asked }
      #expect(try await Self.expected(world) == 1)
      #expect(try await Self.existing(world) == 1)
      try await world.sandbox.control(.delete, "faults")
      try await Self.lookToTheEnd(world)
      #expect(try await Self.existing(world) == 0)
      try await world.sandbox.control(.delete, "hold")
    }
  }

  @Test("A consent that is taken back while the voice is made leaves none, and one that is given again has another made")
  func withdrawal() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let ana = try await Self.inTheMaking(world, isBefore: true)
      let withdrawn = try await world.voices.withdrawVoiceConsent(options: OnboardingWorld.options(ana))
      #expect(withdrawn.voice?.state == .deleting && withdrawn.voice?.consentedAt == nil, "\(withdrawn)")
      try await world.sandbox.control(.delete, "hold")
      try await eventually { try await world.sandbox.effects("voices")["paid"]?.int64 == 1 }
      try await eventually { try await Self.existing(world) == 0 }
      try await Self.lookToTheEnd(world)
      let later = OnboardingWorld.options(try await world.signIn("ana"))
      try await eventually { try await world.voices.getVoice(options: later).voice?.state == VoiceState.none }
      _ = try await world.voices.giveVoiceConsent(.init(statement: "v2"), options: later)
      _ = try await world.voices.cloneVoice(.init(idempotencyKey: "again"), options: later)
      try await eventually { try await world.voices.getVoice(options: later).voice?.state == .ready }
      #expect(try await Self.existing(world) == 1)
      #expect(try await Self.expected(world) == 0)
    }
  }

  @Test("A provider that surely made nothing leaves nothing to look for; one that may have does", arguments: [false, true])
  func failures(mayHave: Bool) async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      try await world.sandbox.fail(Self.adding, mayHave ? ["drop": true, "count": 1_000] : ["status": 401, "count": 1_000])
      _ = try await world.client.complete(
        .init(
          state: try OnboardingWorld.record(voices: 6), voiceConsent: .init(isGiven: true, statement: "v1"), wait: .init()),
        options: OnboardingWorld.options(ana))
      try await eventually(atMost: .seconds(60)) {
        if try await world.value("select done_at is not null from onboarding.submission", as: Bool.self) == true { return true }
        try await world.pass(.seconds(23))
        return false
      }
      #expect(try await world.value("select state from onboarding.voice", as: String.self) == "failed")
      #expect(try await Self.expected(world) == (mayHave ? 1 : 0))
      // Who wants none any more has it looked for.
      let asked = try await world.sandbox.requests(Self.listing)
      _ = try await world.voices.withdrawVoiceConsent(options: OnboardingWorld.options(try await world.signIn("ana")))
      try await Self.lookToTheEnd(world)
      #expect(try await (world.sandbox.requests(Self.listing) > asked) == mayHave)
    }
  }
}
