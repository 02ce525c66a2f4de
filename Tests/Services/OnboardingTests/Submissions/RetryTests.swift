import AuthDomain
import EventLoop
import Foundation
import JOSE
import JSON
import MessagesCore
import OnboardingAPI
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

@Suite("What is tried again", .serialized)
struct RetryTests {
  private static let transcribing = "/openai/v1/audio/transcriptions"
  private static let adding = "/elevenlabs/v1/voices/add"

  private static func states(_ world: OnboardingWorld) async throws -> [String]? {
    try await world.value(
      "select coalesce(array_agg(state || ' ' || reason order by state), '{}') from onboarding.recording", as: [String].self)
  }

  private static func debug(_ world: OnboardingWorld, _ path: String) async throws -> JSONValue {
    let answer = try await world.post(
      "/debug/onboarding/\(path)", [], as: nil, ["X-Debug-Access": OnboardingWorld.debugToken])
    #expect(answer.status == 200, "\(answer)")
    return answer.body
  }

  @Test("O-35, O-46: a provider's long Retry-After holds up nothing else, and the next round begins no earlier than it says")
  func longWait() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await world.sandbox.fail(Self.transcribing, ["status": 429, "retryAfter": "1800", "count": 1])
      // The clock stands: nothing is waited for.
      let answer = try await world.client.complete(.init(state: try OnboardingWorld.record(voices: 2)), options: options)
      #expect(answer.submission?.stage == .done && answer.identityExtraction?.voiceTranscribed == 1, "\(answer)")
      #expect(answer.identityExtraction?.fieldsExtracted == 59 && answer.identityExtraction?.success == true)
      #expect(answer.submission?.warnings.map(\.reason) == ["transcription_failed"])
      _ = try await world.client.saveAnswer(.init(step: 18, answer: .written("eleven times")), options: options)
      let wait: Double? = try await world.value(
        "select extract(epoch from due_at - enqueued_at)::float8 from onboarding.job where kind = 'onboarding.process'")
      #expect(wait == 1_800)
      world.parley.clock.advance(by: .seconds(1_800))
      try await eventually { try await Self.states(world) == ["done ", "done "] }
    }
  }

  @Test("O-46: a short Retry-After is waited for in the same round")
  func shortWait() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      try await world.sandbox.fail(Self.transcribing, ["status": 429, "retryAfter": "20", "count": 1])
      let state = try OnboardingWorld.record(voices: 1)
      _ = try await world.client.complete(.init(state: state, wait: .init()), options: OnboardingWorld.options(ana))
      try await eventually {
        try await world.value(
          "select count(*) from onboarding.job where attempt = 1 and holder is null and kind = 'onboarding.process'",
          as: Int64.self)
          == 1
      }
      world.parley.clock.advance(by: .seconds(22))
      let answer = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
      #expect(answer.identityExtraction?.voiceTranscribed == 1 && answer.submission?.warnings.isEmpty == true, "\(answer)")
      #expect(try await world.submissionJobs() == 0)
    }
  }

  @Test("O-46: what failed is tried again after 1, 5 and 30 minutes, 2 and 12 hours, not a second earlier, and then no more")
  func rounds() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      try await world.sandbox.fail(Self.transcribing, ["status": 401, "count": 1_000])
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 1)), options: OnboardingWorld.options(ana))
      @Sendable func asked() async throws -> Int { try await world.sandbox.requests(Self.transcribing) }
      /// Somebody else's work goes by: a job that was due would have been taken before.
      func passBy(_ name: String) async throws {
        let other = try await world.signIn(name)
        let answer = try await world.client.complete(
          .init(state: try OnboardingWorld.record(voices: 0)), options: OnboardingWorld.options(other))
        #expect(answer.submission?.stage == .done)
      }
      #expect(try await asked() == 1)
      for (round, pause) in zip(1..., [60, 300, 1_800, 7_200, 43_200]) {
        world.parley.clock.advance(by: .seconds(pause - 1))
        try await passBy("before \(round)")
        #expect(try await asked() == round, "a second too early")
        world.parley.clock.advance(by: .seconds(1))
        let left: Int64 = round < 5 ? 1 : 0
        try await eventually {
          let idle = "select count(*) from onboarding.job where holder is not null" as Query
          guard try await asked() == round + 1, try await world.submissionJobs() == left else { return false }
          return try await world.value(idle, as: Int64.self) == 0
        }
      }
      world.parley.clock.advance(by: .seconds(7 * 86_400))
      try await passBy("later")
      #expect(try await asked() == 6)
      #expect(try await world.value("select retry_round from onboarding.submission where recordings = 1", as: Int32.self) == 5)
    }
  }

  @Test(
    "O-33, O-46: a voice that could not be made is made by the next round, or when an operator says so", arguments: [false, true])
  func clone(byOperator: Bool) async throws {
    try await OnboardingWorld.with(OnboardingWorld.operated) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await world.sandbox.fail(Self.adding, ["status": 401, "count": 1])
      let answer = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 6), voiceConsent: .init(isGiven: true, statement: "v1")),
        options: options)
      #expect(answer.voiceClone?.success == false && answer.voiceClone?.error == "unauthorized", "\(answer)")
      if byOperator {
        try await world.asOperator { admin in
          let begun = try await admin.retryVoiceClone(
            .init(userID: ana.userID.description), options: OnboardingWorld.withoutSession())
          #expect(begun.isNew)
        }
      } else {
        world.parley.clock.advance(by: .seconds(60))
      }
      try await eventually { try await world.voices.getVoice(options: options).voice?.state == .ready }
      #expect(try await world.sandbox.effects("voices")["paid"]?.int64 == 1)
    }
  }

  @Test(
    "O-44, O-45: an extraction that failed is done again when an operator says so, and one that succeeded is not paid for twice")
  func extraction() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await world.sandbox.control(.post, "openai/chat", ["refusal": "no", "count": 1])
      let answer = try await world.client.complete(.init(state: try OnboardingWorld.record(voices: 0)), options: options)
      #expect(answer.identityExtraction?.error == "refused_by_model")
      let path = "retry-identity-extraction/\(ana.userID)"
      #expect(try await Self.debug(world, path)["started"]?.bool == true)
      try await eventually { try await world.identity.getIdentity(options: options).identity?.fields.count == 60 }
      try await eventually {
        try await world.value("select count(*) from onboarding.job where unique_key like '%/operator'", as: Int64.self) == 0
      }
      let paid = try await world.sandbox.effects("chats")["paid"]?.int64
      #expect(try await Self.debug(world, path)["started"]?.bool == false)
      #expect(
        try await world.value("select count(*) from onboarding.job where unique_key like '%/operator'", as: Int64.self) == 0)
      #expect(try await world.sandbox.effects("chats")["paid"]?.int64 == paid)
    }
  }

  @Test("O-30, O-43: silence and too little are told apart without a warning, and heard once more where empty ones are to be")
  func empty() async throws {
    try await OnboardingWorld.with(OnboardingWorld.operated) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      var state = try OnboardingWorld.record(voices: 4)
      state.responses["2"]?.value = .spoken(try SpokenFiles.silence())
      // 300 ms, and loud.
      state.responses["5"]?.value = .spoken(SpokenFiles.tone(bytes: 44 + 9_600), as: "audio/wav")
      // Loud, and the provider hears nobody.
      let murmur = try #require(try OnboardingWorld.recordings(in: state)[7])
      let hash = Hexadecimal.text(SHA256.digest(murmur))
      try await world.sandbox.control(.post, "openai/transcripts", ["sha256": .string(hash), "silent": true])
      let answer = try await world.client.complete(.init(state: state), options: options)
      #expect(answer.submission?.stage == .done && answer.submission?.warnings.isEmpty == true, "\(answer)")
      #expect(answer.identityExtraction?.voiceTranscribed == 1)
      let clips = try await world.voices.listVoiceClips(options: options).clips
      let states = Dictionary(uniqueKeysWithValues: clips.map { ($0.stepID, $0.transcriptionState) })
      #expect(states == [2: .noSpeech, 5: .tooShort, 7: .noSpeech, 10: .done], "\(states)")
      #expect(try await world.submissionJobs() == 0, "nothing failed")
      try await world.asOperator { admin in
        let user = ana.userID.description
        let failed = try await admin.retryTranscription(.init(userID: user), options: OnboardingWorld.withoutSession())
        let all = try await admin.retryTranscription(
          .init(userID: user, silentToo: true), options: OnboardingWorld.withoutSession())
        #expect(failed.recordings == 0 && all.recordings == 3)
      }
      try await eventually { try await world.submissionJobs() == 0 }
      // The first app's path has empty ones heard again as it always did; whoever pays may leave them out.
      let path = "retry-transcription/\(ana.userID)"
      #expect(try await Self.debug(world, path + "?silent=false")["recordings"]?.int64 == 0)
      #expect(try await Self.debug(world, path)["recordings"]?.int64 == 3)
      try await eventually { try await world.submissionJobs() == 0 }
      #expect(try await world.sandbox.requests(Self.transcribing) == 4)
    }
  }

  @Test("What waits for a provider that is not set up waits without rounds, and is made as soon as one is")
  func notConfigured() async throws {
    let absent = ["OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_IDEMPOTENCY_HEADER", "ELEVENLABS_BASE_URL", "ELEVENLABS_API_KEY"]
    let settings = Dictionary(uniqueKeysWithValues: absent.map { ($0, "") }).merging(["TENDING_INTERVAL": "50ms"]) { $1 }
    try await OnboardingWorld.with(settings) { world in
      let ana = try await world.signIn("ana")
      let answer = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 6), voiceConsent: .init(isGiven: true, statement: "v1")),
        options: OnboardingWorld.options(ana))
      #expect(answer.submission?.stage == .done && answer.identityExtraction?.error == "not_configured", "\(answer)")
      #expect(try await Self.states(world) == Array(repeating: "failed not_configured", count: 6))
      #expect(try await world.submissionJobs() == 0, "a round would find nobody to ask")
      // Long after the last round would have been.
      world.parley.clock.advance(by: .seconds(30 * 86_400))
      // Somebody for whom a job is live already, which may be past the parts that wait.
      let ben = try await world.signIn("ben")
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 2, variant: 1)), options: OnboardingWorld.options(ben))
      try await world.execute([
        """
        insert into onboarding.job (id, queue, kind, version, priority, unique_key, user_id, payload, max_attempts, due_at, enqueued_at)
        select gen_random_uuid(), 'default', 'onboarding.process', 1, 0, id || '/1', user_id, '', 1, 'infinity', created_at
        from onboarding.submission where user_id = \(ben.userID.description)::uuid
        """
      ])
      let scratch = try ScratchFolder()
      var (settings, _) = try OnboardingWorld.settings(world.parley, world.sandbox, in: scratch)
      settings["BLOBS_DIRECTORY"] = world.folder
      settings["TENDING_INTERVAL"] = "50ms"
      try await world.parley.with(OnboardingAPI.OnboardingService.self, settings: settings) { _, _ in
        // The copy without providers may get the job first, and it is woken again.
        try await eventually(atMost: .seconds(60)) {
          try await world.value("select state from onboarding.voice", as: String.self) == "ready"
        }
        #expect(
          try await Self.states(world)
            == Array(repeating: "done ", count: 6) + Array(repeating: "failed not_configured", count: 2))
        let failures: [String]? = try await world.value("select array_agg(failure order by failure) from onboarding.identity")
        #expect(failures == ["", "not_configured"])
        try await world.execute(["delete from onboarding.job where due_at = 'infinity'"])
        try await eventually(atMost: .seconds(60)) { try await Self.states(world) == Array(repeating: "done ", count: 8) }
      }
      withExtendedLifetime(scratch) {}
    }
  }

  @Test("A voice that wants to be verified is none: it is deleted at the provider, and not made again before an operator says so")
  func verification() async throws {
    try await OnboardingWorld.with(OnboardingWorld.operated) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      try await world.sandbox.control(.post, "elevenlabs/settings", ["requiresVerification": true])
      let answer = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 6), voiceConsent: .init(isGiven: true, statement: "v1")),
        options: options)
      #expect(answer.voiceClone?.success == false && answer.voiceClone?.error == "verification_required", "\(answer)")
      let voice = try await world.voices.getVoice(options: options).voice
      #expect(voice?.state == .failed && voice?.voiceID == "", "\(voice as Any)")
      try await eventually { try await world.sandbox.effects("voices")["existing"]?.int64 == 0 }
      #expect(try await world.submissionJobs() == 0)
      #expect(try await world.value("select count(*) from onboarding.expected_voice", as: Int64.self) == 0)
      try await world.sandbox.control(.post, "elevenlabs/settings", ["requiresVerification": false])
      try await world.asOperator { admin in
        let begun = try await admin.retryVoiceClone(
          .init(userID: ana.userID.description), options: OnboardingWorld.withoutSession())
        #expect(begun.isNew)
      }
      try await eventually { try await world.voices.getVoice(options: options).voice?.state == .ready }
      #expect(try await world.sandbox.effects("voices")["existing"]?.int64 == 1)
    }
  }

  @Test("O-46: operators see page by page who has something unfinished, since when and why, and how many rounds are left")
  func unfinished() async throws {
    try await OnboardingWorld.with(OnboardingWorld.operated) { world in
      let (ana, ben, cy) = (try await world.signIn("ana"), try await world.signIn("ben"), try await world.signIn("cy"))
      try await world.sandbox.fail(Self.transcribing, ["status": 401, "count": 2])
      for (user, voices) in [(ana, 2), (ben, 0), (cy, 1)] {
        if user.userID == ben.userID { try await world.sandbox.control(.post, "openai/chat", ["refusal": "no", "count": 1]) }
        _ = try await world.client.complete(
          .init(state: try OnboardingWorld.record(voices: voices), voiceConsent: .init(isGiven: true, statement: "v1")),
          options: OnboardingWorld.options(user))
      }
      try await world.asOperator { admin in
        var request = ListUnfinishedRequest(pageSize: 1)
        var found: [String: [String]] = [:]
        repeat {
          let page = try await admin.listUnfinished(request, options: OnboardingWorld.withoutSession())
          #expect(page.people.count == 1, "\(page)")
          for person in page.people {
            found[person.userID] = person.parts.map { "\($0.part) \($0.reason) \($0.count)" }
            #expect(person.parts.allSatisfy { $0.since != nil })
          }
          request.pageToken = page.nextPageToken
        } while !request.pageToken.isEmpty
        // Too little for a voice, and what cy said, is no fault.
        #expect(
          found == [
            ana.userID.description: ["transcription unauthorized 2"], ben.userID.description: ["identity refused_by_model 1"],
          ], "\(found)")
        let shown = try await admin.inspectOnboarding(
          .init(userID: ana.userID.description), options: OnboardingWorld.withoutSession())
        #expect(shown.roundsLeft == 5)
        for wrong in [ListUnfinishedRequest(pageSize: 201), .init(pageSize: -1), .init(pageToken: "x")] {
          let refusal = await #expect(throws: RPCError.self) {
            try await admin.listUnfinished(wrong, options: OnboardingWorld.withoutSession())
          }
          #expect(refusal?.code == .invalidArgument)
        }
      }
    }
  }
}
