import AuthDomain
import Blobs
import EventLoop
import JOSE
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

@testable import OnboardingAPI
@testable import OnboardingStore

@Suite("Recordings that are heard piece by piece", .serialized)
struct StreamedRecordingTests {
  /// Puts what a person has said into this store, as the job that moves recordings does.
  private static func move(_ bytes: [UInt8], of user: UUID, to blobs: any BlobStore, _ database: Database) async throws {
    try await blobs.put(bytes, of: user, type: "audio/wav")
    try await database.transaction { transaction in
      try await RecordingStore(database).stored(SHA256.digest(bytes), of: user, at: .init(microseconds: 1), in: transaction)
    }
  }

  @Test(
    "No more than 256 KiB of a recording are in memory for who hears it, wherever it is, also when it moves meanwhile (OF-05)")
  func pieces() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let user = try ana.databaseID()
      let bytes = SpokenFiles.tone(bytes: 3 << 20)
      _ = try await PieceUpload(name: "upload-0123456789", bytes: bytes, type: "audio/wav", pieces: [1 << 20]).send(
        world, as: ana)
      let blobs = try await FileBlobStore(in: world.folder, pool: world.parley.loops.blocking)
      try await world.parley.withDatabase { (database: Database) async throws -> Void in
        let desk = RecordingDesk(database: database, recordings: RecordingStore(database), blobs: blobs)
        func heard(_ range: Range<Int64>, _ meanwhile: () async throws -> Void = {}) async throws -> [UInt8] {
          let recording = try await desk.recording(Hexadecimal.text(SHA256.digest(bytes)), of: user)
          try await desk.mustBeThere(recording, user)
          var heard: [UInt8] = []
          try await desk.send(range, of: recording, user) { piece in
            #expect(!piece.isEmpty && piece.count <= 256 << 10, "\(piece.count) bytes at once")
            if heard.isEmpty { try await meanwhile() }
            heard += piece
          }
          return heard
        }
        let size = Int64(bytes.count)
        let ranges: [Range<Int64>] = [0..<size, 0..<1, size - 1..<size, (1 << 20) - 1..<(1 << 20) + 1, 300_000..<2_900_000]
        for range in ranges { #expect(try await heard(range) == Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])) }
        // It goes to the object store behind the first piece.
        #expect(try await heard(0..<size) { try await Self.move(bytes, of: user, to: blobs, database) } == bytes)
        for range in ranges { #expect(try await heard(range) == Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])) }
      }
      let path = "/onboarding/recordings/\(Hexadecimal.text(SHA256.digest(bytes)))"
      #expect(try await world.send(.get, path, as: ana).body == bytes)
      // What is gone is said before anything is sent.
      try await blobs.deleteAll(of: user)
      #expect(try await world.send(.get, path, as: ana).status == 404)
    }
  }
}
