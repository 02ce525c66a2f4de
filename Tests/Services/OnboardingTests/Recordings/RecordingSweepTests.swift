import AuthDomain
import EventLoop
import Foundation
import JOSE
import MessagesCore
import OnboardingAPI
import OnboardingStore
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import Testing
import Values
import WellKnown

@Suite("Recordings that no answer refers to", .serialized)
struct RecordingSweepTests {
  /// What the service is told: it looks all the time.
  private static let settings = ["TENDING_INTERVAL": "50ms"]
  private static let month = Duration.seconds(30 * 86_400)

  /// Somebody with two recordings in the object store, of which one is no answer any more.
  private struct Left: Sendable {
    let user: TestUser
    let id: Values.UUID
    /// What is still an answer.
    let kept: [UInt8]
    /// What is not.
    let left: [UInt8]

    func file(_ bytes: [UInt8], _ world: OnboardingWorld) -> String {
      "\(world.folder)/\(user.userID)/\(Hexadecimal.text(SHA256.digest(bytes)))"
    }

    func isStored(_ bytes: [UInt8], _ world: OnboardingWorld) -> Bool {
      FileManager.default.fileExists(atPath: file(bytes, world))
    }

    func isKept(_ bytes: [UInt8], _ world: OnboardingWorld) async throws -> Bool {
      try await world.count("onboarding.recording where user_id = \(id) and digest = \(SHA256.digest(bytes))") == 1
    }
  }

  private static func leave(_ world: OnboardingWorld) async throws -> Left {
    let ana = try await world.signIn("ana")
    let state = try OnboardingWorld.record(voices: 2)
    let recordings = try OnboardingWorld.recordings(in: state)
    let answer = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
    #expect(answer.filesProcessed == 2 && answer.submission?.stage == .done)
    let left = Left(
      user: ana, id: try ana.databaseID(), kept: try #require(recordings[2]), left: try #require(recordings[5]))
    #expect(left.isStored(left.kept, world) && left.isStored(left.left, world))
    _ = try await world.client.saveAnswer(
      .init(step: 5, answer: .written("written instead")), options: OnboardingWorld.options(ana))
    return left
  }

  /// Waits until the service has looked at everything once more, from beginning to end: twice it removes what is planted for that.
  private static func look(_ world: OnboardingWorld) async throws {
    for _ in 1...2 {
      let nobody = Values.UUID.v7()
      try await world.parley.withDatabase { database in
        _ = try await database.execute(
          """
          insert into onboarding.recording (
            user_id, digest, size, format, media_type, stage_id, state, created_at, updated_at, unreferred_since)
          values (\(nobody), \(SHA256.digest([1])), 1, 'm4a', 'audio/mp4', \(nobody), 'pending', now(), now(), '2001-01-01')
          """)
      }
      try await eventually { try await world.count("onboarding.recording where user_id = \(nobody)") == 0 }
      try await eventually { try await world.count("onboarding.unwanted_recording where user_id = \(nobody)") == 0 }
    }
  }

  @Test("One that was replaced goes after the retention to the second, wherever it is; one that is an answer stays")
  func retention() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let left = try await Self.leave(world)
      // Another that came in pieces, and waits in the database.
      let upload = try SpokenFiles.m4a(77)
      _ = try await PieceUpload(name: "upload-that-is-no-answer", bytes: upload, pieces: [upload.count])
        .send(world, as: left.user)
      #expect(try await world.count("onboarding.staged_bytes where user_id = \(left.id)") > 0)
      world.parley.clock.advance(by: Self.month - .seconds(1))
      try await Self.look(world)
      #expect(try await left.isKept(left.left, world) && left.isStored(left.left, world))
      #expect(try await left.isKept(upload, world))
      world.parley.clock.advance(by: .seconds(1))
      try await eventually { try await !left.isKept(left.left, world) && !left.isStored(left.left, world) }
      try await eventually { try await !left.isKept(upload, world) }
      try await eventually { try await world.count("onboarding.unwanted_recording where user_id = \(left.id)") == 0 }
      #expect(try await world.count("onboarding.staged_bytes where user_id = \(left.id)") == 0)
      // What is an answer is not touched by any time.
      world.parley.clock.advance(by: Self.month * 12)
      try await Self.look(world)
      #expect(try await left.isKept(left.kept, world) && left.isStored(left.kept, world))
    }
  }

  @Test("One that an upload brings stays while the upload is known")
  func uploading() async throws {
    try await OnboardingWorld.with(Self.settings.merging(["UPLOAD_RETENTION": "2160h"]) { $1 }) { world in
      let left = try await Self.leave(world)
      // The same content is on its way again.
      let upload = PieceUpload(name: "upload-that-broke-off", bytes: left.left)
      await #expect(throws: RPCError.self) { _ = try await upload.send(world, as: left.user, upTo: 10_000) }
      world.parley.clock.advance(by: Self.month + .seconds(1))
      try await Self.look(world)
      #expect(try await left.isKept(left.left, world) && left.isStored(left.left, world))
      world.parley.clock.advance(by: Self.month * 2)
      try await eventually { try await !left.isKept(left.left, world) && !left.isStored(left.left, world) }
    }
  }

  @Test("A store that is away is asked again, and content that comes again meanwhile stays")
  func away() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let left = try await Self.leave(world)
      let file = left.file(left.left, world)
      // A folder in its place cannot be deleted as a file.
      let blocked = "\(file)/inside"
      func block() throws {
        try? FileManager.default.removeItem(atPath: file)
        try FileManager.default.createDirectory(atPath: blocked, withIntermediateDirectories: true)
      }
      func unblock() throws {
        try FileManager.default.removeItem(atPath: file)
        try Data(left.left).write(to: URL(fileURLWithPath: file))
      }
      try block()
      world.parley.clock.advance(by: Self.month)
      try await eventually { try await world.isPostponed(left.id) }
      #expect(try await !left.isKept(left.left, world))
      try unblock()
      try await Self.look(world)
      #expect(left.isStored(left.left, world), "its next time has not come")
      world.parley.clock.advance(by: .seconds(300))
      try await eventually { !left.isStored(left.left, world) }
      try await eventually { try await world.count("onboarding.unwanted_recording where user_id = \(left.id)") == 0 }

      // The other one too, but while the store is away it comes again.
      let ana = OnboardingWorld.options(try await world.signIn("ana"))
      let spoken = OnboardingAnswer.spoken(left.left)
      _ = try await world.client.saveAnswer(.init(step: 5, answer: spoken), options: ana)
      _ = try await world.client.saveAnswer(.init(step: 5, answer: .written("written")), options: ana)
      try block()
      world.parley.clock.advance(by: Self.month)
      try await eventually { try await world.isPostponed(left.id) }
      let back = OnboardingWorld.options(try await world.signIn("ana"))
      _ = try await world.client.saveAnswer(.init(step: 5, answer: spoken), options: back)
      #expect(try await world.count("onboarding.unwanted_recording where user_id = \(left.id)") == 0)
      try unblock()
      world.parley.clock.advance(by: Self.month * 2)
      try await Self.look(world)
      #expect(try await left.isKept(left.left, world) && left.isStored(left.left, world))
    }
  }

  @Test("One that becomes an answer again at the last moment stays")
  func race() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let left = try await Self.leave(world)
      let digest = SHA256.digest(left.left)
      try await world.parley.withDatabase { database in
        try await database.transaction { transaction in
          try await SubmissionStore(database).lock(left.id, in: transaction)
          // Its time is over, and the service looks, while the answer is not committed yet.
          world.parley.clock.advance(by: Self.month)
          try await Self.look(world)
          let answers = try await transaction.execute(
            "update onboarding.answer set recording = \(digest) where user_id = \(left.id) and step = 5")
          #expect(answers == 1)
        }
      }
      try await Self.look(world)
      #expect(try await left.isKept(left.left, world) && left.isStored(left.left, world))
    }
  }

  @Test("Two copies of the service sweep at once, and each recording goes once")
  func copies() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let left = try await Self.leave(world)
      let scratch = try ScratchFolder()
      var settings = try OnboardingWorld.settings(world.parley, world.sandbox, in: scratch).environment
      settings.merge(Self.settings) { $1 }
      settings["BLOBS_DIRECTORY"] = world.folder
      try await world.parley.with(OnboardingAPI.OnboardingService.self, settings: settings) { _, _ in
        try await world.parley.withDatabase { database in
          _ = try await database.execute(
            """
            insert into onboarding.recording (
              user_id, digest, size, format, media_type, stage_id, state, created_at, updated_at, unreferred_since)
            select gen_random_uuid(), sha256(number::text::bytea), 1, 'm4a', 'audio/mp4', gen_random_uuid(), 'pending', now(),
              now(), '2001-01-01'
            from generate_series(1, 1200) as number
            """)
        }
        world.parley.clock.advance(by: Self.month)
        try await eventually { try await world.count("onboarding.recording") == 1 }
        try await eventually { try await world.count("onboarding.unwanted_recording") == 0 }
      }
      #expect(try await left.isKept(left.kept, world) && left.isStored(left.kept, world))
      #expect(!left.isStored(left.left, world))
      withExtendedLifetime(scratch) {}
    }
  }
}

extension OnboardingWorld {
  /// How many rows there are of what follows `from`.
  fileprivate func count(_ rows: Query) async throws -> Int64 {
    try await value("select count(*) from \(part: rows)", as: Int64.self) ?? 0
  }

  /// Whether the object store was asked in vain for something of somebody's.
  fileprivate func isPostponed(_ user: Values.UUID) async throws -> Bool {
    try await count("onboarding.unwanted_recording where user_id = \(user) and due_at > since") == 1
  }
}
