import AuthDomain
import EventLoop
import Foundation
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

@Suite("Recordings whose bytes are in danger", .serialized)
struct LostRecordingTests {
  private static func isLost(_ world: OnboardingWorld) async throws -> Bool {
    try await world.value(
      "select state = 'failed' and reason = 'audio_lost' from onboarding.recording", as: Bool.self) == true
  }

  /// How many bytes of recordings are durable in the database.
  private static func staged(_ world: OnboardingWorld) async throws -> Int64? {
    try await world.value(
      """
      select sum(length(data))::bigint from onboarding.staged_bytes join onboarding.recording using (user_id, stage_id)
      where stored_at is null
      """)
  }

  @Test("A recording that the object store has lost is kept again when it comes again, and is written down then")
  func lost() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      try await world.sandbox.fail("/openai/v1/audio/transcriptions", ["status": 401, "count": 1])
      let state = try OnboardingWorld.record(voices: 1)
      let bytes = try #require(try OnboardingWorld.recordings(in: state)[2])
      _ = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
      // The store loses it before the first round.
      let folder = "\(world.folder)/\(ana.userID)"
      for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
        try FileManager.default.removeItem(atPath: "\(folder)/\(file)")
      }
      world.parley.clock.advance(by: .seconds(61))
      try await eventually { try await Self.isLost(world) }
      let later = OnboardingWorld.options(try await world.signIn("ana"))
      var answer = try #require(state.responses["2"])
      answer.timestamp = ""
      _ = try await untilNotBusy { try await world.client.saveAnswer(.init(step: 2, answer: answer), options: later) }
      #expect(try await Self.staged(world) == Int64(bytes.count))
      let opened = try await world.post(
        "/debug/onboarding/retry-transcription/\(ana.userID)", [], as: nil, ["X-Debug-Access": OnboardingWorld.debugToken])
      #expect(opened.status == 200 && opened.body["recordings"]?.int64 == 1, "\(opened)")
      try await eventually {
        // The round that is still under way is waited for.
        world.parley.clock.advance(by: .milliseconds(200))
        return try await world.value(
          "select state = 'done' and stored_at is not null from onboarding.recording", as: Bool.self) == true
      }
      #expect(world.blobs(of: ana).count == 1)
    }
  }

  @Test("An upload whose recording is lost is not known any more, and begins anew under its name")
  func uploadedAgain() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let bytes = try SpokenFiles.m4a(1)
      let upload = PieceUpload(name: "an-upload-that-is-lost", bytes: bytes)
      let first = try await upload.send(world, as: ana)
      #expect(try await world.client.getUpload(.init(uploadID: upload.name), options: options).isComplete)
      try await world.parley.withDatabase { database in
        _ = try await database.execute("delete from onboarding.staged_bytes")
        _ = try await database.execute(
          "update onboarding.recording set state = 'failed', reason = 'audio_lost', stored_at = now(), stage_id = null")
      }
      let unknown = await #expect(throws: RPCError.self) {
        try await world.client.getUpload(.init(uploadID: upload.name), options: options)
      }
      #expect(unknown?.reason == "UPLOAD_NOT_FOUND")
      #expect(try await upload.send(world, as: ana) == first)
      #expect(try await Self.staged(world) == Int64(bytes.count))
    }
  }

  @Test("All answers that bring a lost recording again are worked on again")
  func completedAgain() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let state = try OnboardingWorld.record(voices: 1)
      let first = try await world.client.complete(.init(state: state), options: options)
      #expect(try await world.client.complete(.init(state: state), options: options).jobID == first.jobID)
      try await world.parley.withDatabase { database in
        _ = try await database.execute(
          "update onboarding.recording set state = 'failed', transcript = null, reason = 'audio_lost'")
      }
      let second = try await world.client.complete(.init(state: state), options: options)
      #expect(second.jobID != first.jobID && second.identityExtraction?.voiceTranscribed == 1, "\(second)")
      #expect(try await world.client.complete(.init(state: state), options: options).jobID == second.jobID)
    }
  }

  @Test("A stream that began before another one and is none of it takes nothing of what the other one has brought")
  func stale() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let bytes = try SpokenFiles.m4a(1)
      let name = "an-upload-of-two-streams"
      let (signal, go) = AsyncStream<Void>.makeStream()
      let stale = Task {
        try await world.client.uploadRecording(options: options) { requests in
          try await requests.write(.init(head: PieceUpload(name: name, bytes: bytes, type: "audio/wav").head))
          for await _ in signal { break }
          try await requests.write(.init(data: .init(bytes.prefix(20_000))))
        }
      }
      try await eventually {
        do { return try await world.client.getUpload(.init(uploadID: name), options: options).offset == 0 } catch let error
          as RPCError where error.reason == "UPLOAD_NOT_FOUND"
        { return false }
      }
      let ended = try await world.parley.withDatabase { database in
        try await database.transaction { transaction in
          try await transaction.execute("lock table onboarding.recording in share mode")
          let ended = Task { try await PieceUpload(name: name, bytes: bytes).send(world, as: ana) }
          try await eventually { try await world.waiting(for: "relation") == 1 }
          go.yield()
          let refusal = await #expect(throws: RPCError.self) { try await stale.value }
          #expect(refusal?.reason == "AUDIO_TYPE_MISMATCH", "\(refusal as Any)")
          return ended
        }
      }
      #expect(try await ended.value.size == Int64(bytes.count))
      #expect(try await Self.staged(world) == Int64(bytes.count), "what was answered with success is there")
      #expect(try await world.client.getUpload(.init(uploadID: name), options: options).isComplete)
    }
  }
}
