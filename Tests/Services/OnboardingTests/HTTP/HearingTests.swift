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
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("Recordings that are heard again", .serialized)
struct HearingTests {
  /// Somebody's clips as the first app reads them.
  private static func clips(_ world: OnboardingWorld, _ user: TestUser) async throws -> [JSONValue] {
    let listed = try await world.post("/api/identity/voice-clips/\(user.userID)", [], as: user, [:], method: .get)
    #expect(listed.status == 200 && listed.body["success"] == true && listed.body.object?.count == 2, "\(listed)")
    return try #require(listed.body["clips"]?.array)
  }

  /// Expects each member of a clip with its type.
  private static func expectMembers(_ clip: JSONValue, _ bytes: [UInt8], step: Int64) {
    #expect(clip["id"]?.string == Hexadecimal.text(SHA256.digest(bytes)) && clip["stepId"]?.int64 == step, "\(clip)")
    #expect(clip["audioUrl"]?.string?.isEmpty == false && clip["createdAt"]?.string?.hasSuffix("Z") == true, "\(clip)")
    #expect(clip["transcription"]?.string?.hasPrefix("words of") == true, "\(clip)")
    #expect(clip["transcriptionState"] == "TRANSCRIPTION_STATE_DONE" && clip["size"]?.int64 == Int64(bytes.count), "\(clip)")
    #expect(clip["duration"]?.number?.double.map { (6...8).contains($0) } == true && clip.object?.count == 8, "\(clip)")
  }

  /// The two recordings that somebody completes with, each beside its clip, of which each member is expected.
  private static func completed(
    _ world: OnboardingWorld, _ user: TestUser
  ) async throws -> [(clip: JSONValue, bytes: [UInt8])] {
    let state = try OnboardingWorld.record(voices: 2)
    _ = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(user))
    let recordings = try OnboardingWorld.recordings(in: state)
    let clips = try await Self.clips(world, user)
    #expect(clips.count == 2)
    var both: [(clip: JSONValue, bytes: [UInt8])] = []
    for (clip, step) in zip(clips, [2, 5]) {
      let bytes = try #require(recordings[step])
      Self.expectMembers(clip, bytes, step: Int64(step))
      both.append((clip, bytes))
    }
    return both
  }

  @Test("O-49: clips have an address of this service where the store makes none, and each is heard there by its person alone")
  func files() async throws {
    try await OnboardingWorld.with { world in
      let (ana, ben) = (try await world.signIn("ana"), try await world.parley.signIn("ben"))
      let both = try await Self.completed(world, ana)
      for (clip, bytes) in both {
        let path = try #require(clip["audioUrl"]?.string)
        let heard = try await world.send(.get, path, as: ana)
        #expect(heard.status == 200 && heard.body == bytes)
        #expect(
          heard.headers["content-type"] == "audio/mp4" && heard.headers["content-length"] == "\(bytes.count)", "\(heard.headers)")
        #expect(heard.headers["x-content-type-options"] == "nosniff" && heard.headers["accept-ranges"] == "bytes")
        #expect(heard.headers["cache-control"] == "private, max-age=900")
        #expect(try await world.send(.get, path, as: ben).status == 404)
        #expect(try await world.send(.get, path, as: nil).status == 401)
      }
      let listed = try await world.voices.listVoiceClips(options: OnboardingWorld.options(ana))
      #expect(listed.clips.map(\.audioURL) == both.compactMap { $0.clip["audioUrl"]?.string })
      for name in ["x", String(repeating: "0", count: 64)] {
        #expect(try await world.send(.get, "/onboarding/recordings/\(name)", as: ana).status == 404, "\(name)")
      }
    }
  }

  @Test("A part of a recording is heard by its range, also before the object store has it")
  func ranges() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let state = try OnboardingWorld.record(voices: 1)
      let bytes = try #require(try OnboardingWorld.recordings(in: state)[2])
      let (path, size) = ("/onboarding/recordings/\(Hexadecimal.text(SHA256.digest(bytes)))", bytes.count)
      let cases: [(range: String, part: Range<Int>?, status: Int)] = [
        ("bytes=0-1", 0..<2, 206), ("bytes=100-", 100..<size, 206), ("bytes=-7", size - 7..<size, 206),
        ("bytes=5-999999999", 5..<size, 206), ("bytes=-999999999", 0..<size, 206), ("bytes=\(size - 1)-", size - 1..<size, 206),
        ("bytes=\(size)-", nil, 416), ("bytes=-0", nil, 416), ("bytes=2-1", 0..<size, 200), ("bytes=0-1,3-4", 0..<size, 200),
        ("lines=0-1", 0..<size, 200), ("bytes=", 0..<size, 200), ("bytes=-", 0..<size, 200), ("bytes=a-b", 0..<size, 200),
        ("bytes=99999999999999999999-", 0..<size, 200),
      ]
      @Sendable func expectParts() async throws {
        for (range, part, status) in cases {
          let heard = try await world.send(.get, path, as: ana, ["Range": range])
          #expect(heard.status == status, "\(range) \(heard.status)")
          if let part {
            #expect(heard.body == Array(bytes[part]), "\(range)")
          } else {
            #expect(try JSONParser.parse(heard.body)["code"] == "RANGE_NOT_SATISFIABLE", "\(range)")
          }
          let said = heard.headers["content-range"]
          switch status {
          case 206: #expect(said == part.map { "bytes \($0.lowerBound)-\($0.upperBound - 1)/\(size)" }, "\(range)")
          case 416: #expect(said == "bytes */\(size)", "\(range)")
          default: #expect(said == nil, "\(range)")
          }
        }
      }
      // What was uploaded stays in the database until somebody completes with it.
      let head = PieceUpload(name: "upload-0123456789", bytes: bytes).head
      _ = try await world.client.uploadRecording(options: OnboardingWorld.options(ana)) { requests in
        try await requests.write(.init(head: head, data: .init(Array(bytes.prefix(200)))))
        try await requests.write(.init(data: .init(Array(bytes.dropFirst(200)))))
      }
      #expect(try await world.value("select count(*) from onboarding.staged_bytes", as: Int64.self) == 2)
      try await expectParts()
      _ = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
      #expect(try await world.value("select count(*) from onboarding.staged_bytes", as: Int64.self) == 0)
      try await expectParts()
    }
  }

  @Test("O-29, O-49: with a bucket each clip has a link of 15 minutes, by which the recording is heard without a session")
  func bucket() async throws {
    try await OnboardingWorld.with(inBucket: true) { world in
      let ana = try await world.signIn("ana")
      for (clip, bytes) in try await Self.completed(world, ana) {
        let link = try #require(clip["audioUrl"]?.string)
        #expect(link.hasPrefix(world.sandbox.url) && link.contains("X-Amz-Expires=900"), "\(link)")
        let heard = try await world.sandbox.http.send(HTTPRequest(.get, link))
        #expect(heard.status == 200 && heard.body == bytes)
        // The path of the service serves as well.
        let own = try await world.send(
          .get, "/onboarding/recordings/\(clip["id"]?.string ?? "")", as: ana, ["Range": "bytes=1-9"])
        #expect(own.status == 206 && own.body == Array(bytes[1...9]))
      }
    }
  }
}
