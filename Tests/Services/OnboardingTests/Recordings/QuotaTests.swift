import AuthDomain
import EventLoop
import Foundation
import JOSE
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

@Suite("How much a person may leave behind", .serialized)
struct QuotaTests {
  private static let whole: Int64 = 512 << 20

  private static func reason(_ call: () async throws -> Void) async -> String? {
    do {
      try await call()
      return nil
    } catch { return (error as? RPCError)?.reason }
  }

  @Test("A person has 512 MiB of recordings, and not a byte more, wherever they are and whether an answer refers to them (OF-04)")
  func bytes() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      let user = try ana.databaseID()
      let files = [try SpokenFiles.m4a(1), try SpokenFiles.m4a(2)].sorted { $0.count > $1.count }
      let (first, second) = (files[0], files[1])
      // By the service's clock: what nobody has referred to for a month by that one is removed.
      let start = Instant(microseconds: TestClock.start * 1_000_000)
      try await world.parley.withDatabase { database in
        _ = try await database.execute(
          """
          insert into onboarding.recording (
            user_id, digest, size, format, media_type, stage_id, stored_at, state, created_at, updated_at, unreferred_since)
          values (\(user), \(SHA256.digest([1])), 1 << 20, 'm4a', 'audio/mp4', \(user), null, 'pending', \(start), \(start), \(start)),
            (\(user), \(SHA256.digest([2])), \(Self.whole - (1 << 20) - Int64(first.count)), 'm4a', 'audio/mp4', null, \(start), 'pending',
              \(start), \(start), \(start))
          """)
      }
      var large = PieceUpload(name: "upload-of-a-byte-more", bytes: first)
      large.head.size += 1
      large.bytes = []
      let refusal = await large.refusal(world, as: ana)
      #expect(refusal == "QUOTA_EXCEEDED")
      _ = try await PieceUpload(name: "upload-of-what-is-left", bytes: first).send(world, as: ana)
      let another = PieceUpload(name: "upload-of-another-one", bytes: second)
      #expect(await another.refusal(world, as: ana) == "QUOTA_EXCEEDED")
      func save(_ step: Int32, _ answer: OnboardingAnswer) async throws {
        _ = try await world.client.saveAnswer(.init(step: step, answer: answer), options: options)
      }
      #expect(await Self.reason { try await save(5, .spoken(second)) } == "QUOTA_EXCEEDED")
      // What takes no room is taken: text, and what is there already.
      try await save(3, .written("Ana"))
      try await save(2, .spoken(first))
      // That is an answer now, and counts as before, until something else goes.
      #expect(await Self.reason { try await save(5, .spoken(second)) } == "QUOTA_EXCEEDED")
      try await world.execute(["delete from onboarding.recording where digest = \(SHA256.digest([1]))"])
      try await save(5, .spoken(second))
      let ben = try await world.signIn("ben")
      _ = try await another.send(world, as: ben)
    }
  }

  @Test("32 uploads of a person are under way, each of which goes on, and no further one begins before one has ended")
  func uploads() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let user = try ana.databaseID()
      let known = PieceUpload(name: "upload-that-is-known", bytes: try SpokenFiles.m4a(1))
      #expect(await Self.reason { _ = try await known.send(world, as: ana, upTo: 10_000) } == "WRONG_OFFSET")
      try await world.parley.withDatabase { database in
        _ = try await database.execute(
          """
          insert into onboarding.upload (user_id, upload_id, digest, size, media_type, received, stage_id, touched_at)
          select \(user), 'planted-upload-' || number, sha256(number::text::bytea), 1, 'audio/m4a', 0, gen_random_uuid(), now()
          from generate_series(1, 31) as number
          """)
      }
      let late = PieceUpload(name: "upload-that-is-late", bytes: try SpokenFiles.m4a(2))
      #expect(await late.refusal(world, as: ana) == "QUOTA_EXCEEDED")
      _ = try await known.send(world, as: ana, from: 10_000)
      _ = try await late.send(world, as: ana)
    }
  }
}
