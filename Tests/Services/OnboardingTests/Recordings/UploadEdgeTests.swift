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

@Suite("How uploads begin", .serialized)
struct UploadEdgeTests {
  /// An MP3 file behind a tag of so many bytes.
  private static func tagged(_ size: Int) throws -> [UInt8] {
    let tag = Array("ID3".utf8) + [4, 0, 0] + (0..<4).reversed().map { UInt8(size >> (7 * $0) & 0x7f) }
    return try tag + [UInt8](repeating: 0x20, count: size)
      + SpokenFiles.made("a.mp3", ["-f", "lavfi", "-i", "sine=duration=2", "-c:a", "libmp3lame", "-id3v2_version", "0"])
  }

  @Test("O-42: what a recording is does not hang on how it is cut: pieces of a byte, and ends before what tells")
  func cuts() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let webm = try SpokenFiles.made("a.webm", ["-f", "lavfi", "-i", "sine=duration=2", "-c:a", "libopus"])
      let m4a = try SpokenFiles.m4a(1)
      for (index, pieces) in [[1, 1, 10_000], [11, 10_000], [4_095, 10_000], [4_096, 10_000], [16_383, 1, 10_000]].enumerated() {
        #expect(
          await PieceUpload(name: "a-webm-in-pieces-\(index)", bytes: webm, type: "audio/webm", pieces: pieces)
            .refusal(world, as: ana) == nil, "\(pieces)")
        #expect(await PieceUpload(name: "an-m4a-in-pieces-\(index)", bytes: m4a, pieces: pieces).refusal(world, as: ana) == nil)
      }
      // One that goes on after its first bytes is looked at with them.
      let broken = PieceUpload(name: "broken-off-early", bytes: m4a, pieces: [5])
      _ = await #expect(throws: RPCError.self) { try await broken.send(world, as: ana, upTo: 5) }
      #expect(try await world.client.getUpload(.init(uploadID: broken.name), options: OnboardingWorld.options(ana)).offset == 5)
      let rest = try await world.client.uploadRecording(options: OnboardingWorld.options(ana)) { requests in
        try await requests.write(.init(head: broken.beginning(at: 5), data: .init(m4a[5...])))
      }
      #expect(rest.size == Int64(m4a.count))
    }
  }

  @Test(
    "O-42: an MP3 file is taken whatever the length of its tag, in pieces as in the message",
    arguments: [4_086, 16_374, 1_258_291])
  func tags(_ size: Int) async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let bytes = try Self.tagged(size)
      let answer = try await PieceUpload(name: "an-mp3-with-a-tag", bytes: bytes, type: "audio/mpeg", pieces: [1 << 20]).send(
        world, as: ana)
      #expect(answer.seconds > 1.9 && answer.seconds < 2.2, "\(answer)")
      let saved = try await world.client.saveAnswer(
        .init(step: 5, answer: .spoken(bytes, as: "audio/mpeg")), options: OnboardingWorld.options(ana))
      #expect(saved.answered == 1)
      #expect(try await world.value("select count(*) from onboarding.recording", as: Int64.self) == 1)
    }
  }

  @Test("O-41: what is no recording is refused as such, before all of it has come where it is long, and nothing is left")
  func refused() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let text = Array(String(repeating: "This is text, and nobody says it. ", count: 10_000).utf8)
      #expect(await PieceUpload(name: "a-long-text-in-pieces", bytes: text).refusal(world, as: ana) == "AUDIO_UNKNOWN_FORMAT")
      // The rest never comes: with that, the stream would end as one that broke off.
      let early = await #expect(throws: RPCError.self) {
        try await PieceUpload(name: "a-text-refused-early", bytes: text).send(world, as: ana, upTo: 20_000)
      }
      #expect(early?.reason == "AUDIO_UNKNOWN_FORMAT", "\(early as Any)")
      let tag = Array("ID3".utf8) + [4, 0, 0, 0, 1, 0, 0] + [UInt8](repeating: 0x20, count: 16_384) + text
      #expect(
        await PieceUpload(name: "a-text-behind-a-tag", bytes: tag, type: "audio/mpeg").refusal(world, as: ana)
          == "AUDIO_UNKNOWN_FORMAT")
      #expect(try await world.value("select count(*) from onboarding.upload", as: Int64.self) == 0)
      #expect(try await world.value("select count(*) from onboarding.staged_bytes", as: Int64.self) == 0)
    }
  }
}
