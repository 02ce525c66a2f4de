import AuthDomain
import EventLoop
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
import WellKnown

@Suite("One job of a person at a time", .serialized)
struct WorkTests {
  /// The clock moves by minutes while work goes on.
  private static let settings = ["JOBS_LEASE": "600s"]
  private static let transcribing = "/openai/v1/audio/transcriptions"
  private static let extracting = "/openai/v1/chat/completions"

  /// Somebody with two recordings, of which one could not be written down: its first round is due in a minute.
  private static func partly(_ world: OnboardingWorld) async throws -> TestUser {
    let ana = try await world.signIn("ana")
    try await world.sandbox.fail(transcribing, ["status": 401, "count": 1])
    let answer = try await world.client.complete(
      .init(state: try OnboardingWorld.record(voices: 2)), options: OnboardingWorld.options(ana))
    #expect(answer.submission?.stage == .done && answer.identityExtraction?.voiceTranscribed == 1, "\(answer)")
    #expect(try await rounds(world, "") == 1)
    return ana
  }

  /// How many jobs of the first round there are for which something holds.
  private static func rounds(_ world: OnboardingWorld, _ condition: Query) async throws -> Int64? {
    try await world.value(
      """
      select count(*) from onboarding.job
      where kind = 'onboarding.process' and convert_from(payload, 'UTF8') like '%/1' \(part: condition)
      """, as: Int64.self)
  }

  private static func hold(_ world: OnboardingWorld, _ path: String) async throws {
    try await world.sandbox.control(.post, "hold", ["path": .string(path), "count": 1])
  }

  /// Moves the clock on until nobody works or waits for others.
  private static func workToTheEnd(_ world: OnboardingWorld) async throws {
    try await eventually {
      // Not under the hands of a run, which would lose its lease.
      let running = "select count(*) from onboarding.job where holder is not null" as Query
      if try await world.value(running, as: Int64.self) == 0 { world.parley.clock.advance(by: .seconds(2)) }
      return try await world.value(
        "select count(*) from onboarding.job where kind in ('onboarding.process', 'onboarding.clone')", as: Int64.self) == 0
    }
  }

  @Test("A round of older answers ends when newer ones have come, and pays for none of their parts")
  func superseded() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let ana = try await Self.partly(world)
      try await Self.hold(world, Self.transcribing)
      let newer = try OnboardingWorld.record(voices: 1, variant: 1)
      let options = OnboardingWorld.options(ana)
      let running = try await world.client.complete(.init(state: newer, wait: .init()), options: options)
      try await world.sandbox.awaitHeld(1)
      let asked = try await world.sandbox.requests(Self.transcribing)
      world.parley.clock.advance(by: .seconds(61))
      try await eventually { try await Self.rounds(world, "") == 0 }
      #expect(try await world.sandbox.requests(Self.transcribing) == asked)
      try await world.sandbox.control(.delete, "hold")
      let end = try await world.client.complete(.init(state: newer), options: options)
      #expect(end.jobID == running.jobID && end.identityExtraction?.voiceTranscribed == 1, "\(end)")
      let paid = try await world.sandbox.effects("transcriptions")
      #expect(paid["paid"]?.int64 == 2, "\(paid)")
      #expect(try await world.value("select name from onboarding.identity", as: String.self) == "Ana 1")
    }
  }

  @Test("A round that is due while an operator's works gives way, without spending an attempt, and comes back")
  func givingWay() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let ana = try await Self.partly(world)
      try await Self.hold(world, Self.transcribing)
      let opened = try await world.post(
        "/debug/onboarding/retry-transcription/\(ana.userID)", [], as: nil, ["X-Debug-Access": OnboardingWorld.debugToken])
      #expect(opened.status == 200 && opened.body["recordings"]?.int64 == 1, "\(opened)")
      try await world.sandbox.awaitHeld(1)
      world.parley.clock.advance(by: .seconds(61))
      try await eventually { try await Self.rounds(world, "and run_lease > 0 and attempt = 0 and holder is null") == 1 }
      // More often than it has attempts.
      for lease in Int64(2)...6 {
        world.parley.clock.advance(by: .seconds(2))
        try await eventually { try await Self.rounds(world, "and run_lease >= \(lease) and attempt = 0 and holder is null") == 1 }
      }
      try await world.sandbox.control(.delete, "hold")
      try await Self.workToTheEnd(world)
      let paid = try await world.sandbox.effects("transcriptions")
      #expect(paid["paid"]?.int64 == 2 && paid["paidTwice"]?.int64 == 0, "\(paid)")
      #expect(try await world.value("select count(*) from onboarding.dead_job", as: Int64.self) == 0)
      #expect(try await world.value("select count(*) from onboarding.recording where state = 'done'", as: Int64.self) == 2)
    }
  }

  @Test("What an operator wants done while an operator's job is past it is done after that")
  func askedAgain() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let ana = try await world.signIn("ana")
      var state = try OnboardingWorld.record(voices: 2)
      // 300 ms, and loud: nobody is asked for its words. In the other the provider hears nobody.
      state.responses["2"]?.value = .spoken(SpokenFiles.tone(bytes: 44 + 9_600), as: "audio/wav")
      let murmur = try #require(try OnboardingWorld.recordings(in: state)[5])
      let hash = Hexadecimal.text(SHA256.digest(murmur))
      try await world.sandbox.control(.post, "openai/transcripts", ["sha256": .string(hash), "silent": true])
      _ = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
      @Sendable func states() async throws -> [String]? {
        try await world.value("select array_agg(state order by state) from onboarding.recording")
      }
      func retry() async throws -> Int64? {
        try await world.post(
          "/debug/onboarding/retry-transcription/\(ana.userID)", [], as: nil, ["X-Debug-Access": OnboardingWorld.debugToken]
        ).body["recordings"]?.int64
      }
      #expect(try await states() == ["no_speech", "too_short"])
      try await Self.hold(world, Self.transcribing)
      #expect(try await retry() == 2)
      try await world.sandbox.awaitHeld(1)
      try await eventually { try await states() == ["pending", "too_short"] }
      // Asked for twice, it is still one job that follows.
      for _ in 1...2 { #expect(try await retry() == 2) }
      #expect(try await states() == ["pending", "pending"])
      #expect(try await world.submissionJobs() == 2)
      try await world.sandbox.control(.delete, "hold")
      try await Self.workToTheEnd(world)
      #expect(try await states() == ["no_speech", "too_short"])
    }
  }

  @Test(
    "A voice that is asked for while a submission is worked on is paid for once",
    arguments: [
      "/openai/v1/audio/transcriptions", "/elevenlabs/v1/voices/add",
    ])
  func oneVoice(path: String) async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await Self.hold(world, path)
      let request = CompleteRequest(
        state: try OnboardingWorld.record(voices: 6), voiceConsent: .init(isGiven: true, statement: "v1"), wait: .init())
      _ = try await world.client.complete(request, options: options)
      try await world.sandbox.awaitHeld(1)
      let asked = try await world.voices.cloneVoice(.init(idempotencyKey: "meanwhile"), options: options)
      #expect(asked.voice?.state == .cloning)
      try await eventually {
        try await world.value(
          "select count(*) from onboarding.job where kind = 'onboarding.clone' and run_lease > 0 and attempt = 0",
          as: Int64.self) == 1
      }
      try await world.sandbox.control(.delete, "hold")
      try await Self.workToTheEnd(world)
      let later = OnboardingWorld.options(try await world.signIn("ana"))
      #expect(try await world.voices.getVoice(options: later).voice?.state == .ready)
      #expect(try await world.sandbox.effects("voices")["paid"]?.int64 == 1)
    }
  }

  @Test("What a model made of older answers does not take the place of newer ones")
  func understoodTooLate() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      _ = try await world.client.complete(.init(state: try OnboardingWorld.record(voices: 0)), options: options)
      try await Self.hold(world, Self.extracting)
      async let again = Result.of { try await world.client.reExtract(options: options) }
      try await world.sandbox.awaitHeld(1)
      let newer = try OnboardingWorld.record(voices: 0, variant: 1)
      let answer = try await world.client.complete(.init(state: newer), options: options)
      #expect(answer.submission?.stage == .done, "\(answer)")
      try await world.sandbox.control(.delete, "hold")
      guard case .failure(let error as RPCError) = await again else {
        Issue.record("what is older was kept")
        return
      }
      #expect(error.code == .aborted && error.reason == "ANSWERS_CHANGED", "\(error)")
      let name: String? = try await world.value("select value from onboarding.identity_field where name = 'identity_name'")
      #expect(name == "Ana 1")
    }
  }
}
