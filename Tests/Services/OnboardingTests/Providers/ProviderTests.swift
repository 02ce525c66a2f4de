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

@Suite("What providers are asked and given", .serialized)
struct ProviderTests {
  @Test("O-29: a recording that the bucket says it took, and did not, stays here until the bucket truly has it")
  func lost() async throws {
    try await OnboardingWorld.with(inBucket: true) { world in
      let ana = try await world.signIn("ana")
      let state = try OnboardingWorld.record(voices: 1)
      let bytes = try #require(try OnboardingWorld.recordings(in: state).first?.value)
      // 200, and nothing is stored.
      try await world.sandbox.fail("/s3/objects", ["status": 200, "count": 1])
      _ = try await world.client.complete(.init(state: state, wait: .init()), options: OnboardingWorld.options(ana))
      try await eventually {
        try await world.value(
          "select count(*) from onboarding.job where run_lease = 1 and holder is null and kind = 'onboarding.process'",
          as: Int64.self)
          == 1
      }
      #expect(try await world.value("select count(*) from onboarding.recording where stored_at is null", as: Int64.self) == 1)
      #expect(
        try await world.value("select sum(length(data)) from onboarding.staged_bytes", as: Int64.self) == Int64(bytes.count))
      world.parley.clock.advance(by: .seconds(3))
      let answer = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
      #expect(answer.submission?.stage == .done && answer.submission?.warnings.isEmpty == true, "\(answer)")
      let objects = try await world.sandbox.control(.get, "s3/objects")["objects"]?.array
      let hash = Hexadecimal.text(SHA256.digest(bytes))
      #expect(objects?.count == 1 && objects?.first?["sha256"]?.string == hash, "\(objects as Any)")
      #expect(try await world.value("select count(*) from onboarding.staged_bytes", as: Int64.self) == 0)
    }
  }

  @Test("JOB-M11: every request to a provider carries a key of its own, by which a repeated one is known")
  func keys() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let answer = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 6), voiceConsent: .init(isGiven: true, statement: "v1")),
        options: OnboardingWorld.options(ana))
      for (kind, count) in [("transcriptions", 6), ("chats", 1), ("voices", 1)] {
        let asked = try await world.sandbox.effects(kind)["byRequestId"]?.object ?? [:]
        #expect(asked.count == count && asked.allSatisfy { $0.value.int64 == 1 }, "\(kind) \(asked)")
        #expect(asked.allSatisfy { $0.name.hasPrefix(answer.jobID + "/") }, "\(kind) \(asked)")
      }
    }
  }

  private static let transcribing = "/openai/v1/audio/transcriptions"

  /// Lets time go on between the attempts until the work on the only submission has ended.
  private static func workToTheEnd(_ world: OnboardingWorld) async throws {
    try await eventually(atMost: .seconds(60)) {
      if try await world.value("select done_at is not null from onboarding.submission", as: Bool.self) == true { return true }
      try await world.pass(.seconds(23))
      return false
    }
  }

  @Test("JOB-M11: a provider that hangs is left when its time is up, which is a state of the recording, and the rest goes on")
  func hanging() async throws {
    try await OnboardingWorld.with(["TRANSCRIPTION_TIMEOUT": "1s", "JOBS_LEASE": "600s"]) { world in
      let ana = try await world.signIn("ana")
      try await world.sandbox.fail(Self.transcribing, ["delayMs": 60_000, "count": 1_000])
      let state = try OnboardingWorld.record(voices: 1)
      _ = try await world.client.complete(.init(state: state, wait: .init()), options: OnboardingWorld.options(ana))
      try await Self.workToTheEnd(world)
      #expect(
        try await world.value("select state || ' ' || reason from onboarding.recording", as: String.self) == "failed timeout")
      #expect(try await world.sandbox.requests("/openai/v1/chat/completions") == 1)
      #expect(try await world.value("select failure from onboarding.identity", as: String.self) == "")
    }
  }

  @Test(
    "JOB-M11: a model that hangs is left when its time is up, which is a state of what is understood, and answers stay as they are"
  )
  func hangingModel() async throws {
    try await OnboardingWorld.with(["EXTRACTION_TIMEOUT": "1s", "JOBS_LEASE": "600s"]) { world in
      let ana = try await world.signIn("ana")
      try await world.sandbox.fail("/openai/v1/chat/completions", ["delayMs": 60_000, "count": 1_000])
      _ = try await world.client.complete(
        .init(state: try OnboardingWorld.record(voices: 1), wait: .init()), options: OnboardingWorld.options(ana))
      try await Self.workToTheEnd(world)
      #expect(try await world.value("select failure from onboarding.identity", as: String.self) == "timeout")
      #expect(try await world.value("select state from onboarding.recording", as: String.self) == "done")
      let texts: Int64? = try await world.value("select count(*) from onboarding.answer where value ilike '%timeout%'")
      #expect(texts == 0)
    }
  }

  @Test(
    "JOB-M11: the circuit of a provider of chats or of voices opens after repeated 503s, and what is left has failed without a call",
    arguments: [
      ("/openai/v1/chat/completions", "extract"), ("/elevenlabs/v2/voices", "clone"),
    ])
  func circuits(path: String, part: String) async throws {
    try await OnboardingWorld.with(["ADMIN_LISTEN": "127.0.0.1:0", "JOBS_LEASE": "600s"]) { world in
      try await world.sandbox.fail(path, ["status": 503, "count": 1_000])
      let people = 4
      for person in 0..<people {
        _ = try await world.client.complete(
          .init(
            state: try OnboardingWorld.record(voices: 6), voiceConsent: .init(isGiven: true, statement: "v1"), wait: .init()),
          options: OnboardingWorld.options(try await world.signIn("person \(person)")))
      }
      try await eventually(atMost: .seconds(60)) {
        if try await world.value("select count(*) from onboarding.submission where done_at is null", as: Int64.self) == 0 {
          return true
        }
        try await world.pass(.seconds(23))
        return false
      }
      let asked = try await world.sandbox.requests(path)
      #expect(asked >= 5 && asked < 4 * people, "not each is sent each time: \(asked)")
      let open = "parley_onboarding_failures_total{part=\"\(part)\",reason=\"circuit_open\"}"
      #expect(try await world.metric(open) ?? 0 > 0)
      #expect(try await world.submissionJobs() == Int64(people), "a round follows for each")
    }
  }

  @Test("JOB-M11: after repeated 503s the circuit opens: what is left has failed without a call, and is tried again later")
  func circuit() async throws {
    try await OnboardingWorld.with(["ADMIN_LISTEN": "127.0.0.1:0", "JOBS_LEASE": "600s"]) { world in
      let ana = try await world.signIn("ana")
      try await world.sandbox.fail(Self.transcribing, ["status": 503, "count": 1_000])
      let state = try OnboardingWorld.record(voices: 15)
      _ = try await world.client.complete(.init(state: state, wait: .init()), options: OnboardingWorld.options(ana))
      try await Self.workToTheEnd(world)
      #expect(try await world.value("select count(*) from onboarding.recording where state = 'failed'", as: Int64.self) == 15)
      #expect(try await world.sandbox.requests(Self.transcribing) < 4 * 15, "not each is sent each time")
      let open = "parley_onboarding_failures_total{part=\"transcribe\",reason=\"circuit_open\"}"
      #expect(try await world.metric(open) ?? 0 > 0)
      #expect(try await world.submissionJobs() == 1, "a round follows")
    }
  }

  @Test("O-33: the cloner gets the longest recordings until there are thirty seconds, and none besides")
  func samples() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      var state = try OnboardingWorld.record(voices: 5)
      var longest: Set<String> = []
      for (step, seconds) in [("5", 12), ("7", 11), ("14", 10)] {
        let bytes = try SpokenFiles.m4a(700 + seconds, seconds: seconds)
        longest.insert(Hexadecimal.text(SHA256.digest(bytes)))
        state.responses[step]?.value = .spoken(bytes)
      }
      let answer = try await world.client.complete(
        .init(state: state, voiceConsent: .init(isGiven: true, statement: "v1")), options: OnboardingWorld.options(ana))
      #expect(answer.voiceClone?.success == true && answer.filesProcessed == 5, "\(answer)")
      let voices = try await world.sandbox.control(.get, "elevenlabs/voices")["voices"]?.array
      let sent = voices?.first?["samples"]?.array?.compactMap { $0["hash"]?.string }
      #expect(voices?.count == 1 && sent?.count == 3 && Set(sent ?? []) == longest, "\(voices as Any)")
    }
  }

  @Test("O-30, O-48: bare AAC frames go out as an M4A file, which a provider takes, and are kept as they came")
  func frames() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let bytes = try SpokenFiles.other(8, as: "aac")
      let state = OnboardingState(responses: ["2": .spoken(bytes, as: "audio/aac")])
      let answer = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
      #expect(answer.identityExtraction?.voiceTranscribed == 1 && answer.submission?.warnings.isEmpty == true, "\(answer)")
      #expect(world.blobs(of: ana) == [Hexadecimal.text(SHA256.digest(bytes))])
      let words = try await world.client.transcribe(
        .init(audio: .init(bytes), contentType: "audio/aac"), options: OnboardingWorld.options(ana))
      #expect(words.success && words.text.hasPrefix("words of"), "\(words)")
    }
  }
}
