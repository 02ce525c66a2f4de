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

@Suite("Recordings that come outside a submission", .serialized)
struct FollowUpTests {
  /// How many bytes of recordings wait in the database.
  private static func staged(_ world: OnboardingWorld) async throws -> Int64 {
    try await world.value("select coalesce(sum(length(data)), 0)::bigint from onboarding.staged_bytes") ?? -1
  }

  @Test("The recording of an answer leaves the database though nothing is ever submitted, however it came (OF-04)")
  func stored() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let (said, uploaded) = (try SpokenFiles.m4a(1), try SpokenFiles.m4a(2))
      _ = try await world.client.saveAnswer(.init(step: 2, answer: .spoken(said)), options: options)
      let upload = try await PieceUpload(name: "upload-of-an-answer", bytes: uploaded).send(world, as: ana)
      _ = try await world.client.saveAnswer(
        .init(step: 5, answer: OnboardingAnswer(type: "voice", value: .written(upload.reference))), options: options)
      #expect(try await Self.staged(world) == Int64(said.count + uploaded.count))
      #expect(
        try await world.value("select count(*) from onboarding.job where kind = 'onboarding.store'", as: Int64.self) == 1,
        "one for both")
      world.parley.clock.advance(by: .seconds(60))
      try await eventually("both are in the object store") { world.blobs(of: ana).count == 2 }
      try await eventually("the database has none of them, and no job") {
        let jobs: Int64? = try await world.value("select count(*) from onboarding.job")
        return try await Self.staged(world) == 0 && jobs == 0
      }
      // What has no recording, or one that is there already, needs no job.
      _ = try await world.client.saveAnswer(.init(step: 3, answer: .written("Ana")), options: options)
      _ = try await world.client.saveAnswer(.init(step: 2, answer: .spoken(uploaded)), options: options)
      #expect(try await world.value("select count(*) from onboarding.job", as: Int64.self) == 0)
    }
  }

  @Test("A recording that comes while others are being moved is moved as well (OF-04)")
  func meanwhile() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      _ = try await world.client.saveAnswer(.init(step: 2, answer: .spoken(try SpokenFiles.m4a(1))), options: options)
      // The job is at work on the first one for as long as its row is locked.
      try await world.parley.withDatabase { database in
        try await database.transaction { transaction in
          try await transaction.execute("select from onboarding.recording for update")
          world.parley.clock.advance(by: .seconds(60))
          try await eventually("the job waits") { try await world.waiting(for: "transactionid") > 0 }
          _ = try await world.client.saveAnswer(.init(step: 5, answer: .spoken(try SpokenFiles.m4a(2))), options: options)
        }
      }
      try await eventually("both are in the object store, by the same job") {
        let jobs: Int64? = try await world.value("select count(*) from onboarding.job")
        return try await Self.staged(world) == 0 && jobs == 0
      }
      #expect(world.blobs(of: ana).count == 2)
    }
  }

  @Test("A recording that is answered after everything was submitted is stored, transcribed and understood (OF-04)")
  func afterwards() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      _ = try await world.client.complete(.init(state: try OnboardingWorld.record(voices: 1)), options: options)
      let before = try await world.sandbox.effects("chats")["paid"]
      let bytes = try SpokenFiles.m4a(7)
      _ = try await world.client.saveAnswer(.init(step: 5, answer: .spoken(bytes)), options: options)
      world.parley.clock.advance(by: .seconds(60))
      try await eventually("it is transcribed") {
        let clips = try await world.voices.listVoiceClips(options: options).clips
        return clips.contains {
          $0.stepID == 5 && $0.transcriptionState == .done && $0.transcription?.hasPrefix("words of") == true
        }
      }
      try await eventually("it is stored, and the work has ended") {
        let jobs = try await world.submissionJobs()
        return try await Self.staged(world) == 0 && jobs == 0
      }
      #expect(world.blobs(of: ana).count == 2)
      #expect(try await world.sandbox.effects("chats")["paid"] != before, "the answers are understood anew")
      #expect(try await world.sandbox.effects("transcriptions")["paid"] == 2, "nothing is paid for twice")
    }
  }
}
