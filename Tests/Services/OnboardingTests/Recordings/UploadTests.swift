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

@Suite("Recordings in pieces", .serialized)
struct UploadTests {
  @Test("O-42, JOB-M10: a recording that comes in pieces goes on where it broke off, and is kept once")
  func resumed() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let bytes = try SpokenFiles.m4a(1)
      let upload = PieceUpload(name: "the-upload-of-ana", bytes: bytes)
      let broken = await #expect(throws: RPCError.self) { try await upload.send(world, as: ana, upTo: 25_000) }
      #expect(broken?.reason == "WRONG_OFFSET", "\(broken as Any)")
      let progress = try await world.client.getUpload(.init(uploadID: upload.name), options: OnboardingWorld.options(ana))
      #expect(progress.offset == 25_000 && !progress.isComplete)
      let wrong = await #expect(throws: RPCError.self) { try await upload.send(world, as: ana, from: 20_000) }
      #expect(wrong?.code == .outOfRange)
      let answer = try await upload.send(world, as: ana, from: 25_000)
      let digest = Hexadecimal.text(SHA256.digest(bytes))
      #expect(answer.reference == "recording:\(digest)" && answer.size == Int64(bytes.count))
      // The same again changes nothing, and neither does the same content under another name.
      #expect(try await upload.send(world, as: ana, upTo: 0) == answer)
      #expect(try await PieceUpload(name: "another-name-of-it", bytes: bytes).send(world, as: ana) == answer)
      #expect(try await world.value("select count(*) from onboarding.recording", as: Int64.self) == 1)
      let staged: Int64? = try await world.value("select sum(length(data))::bigint from onboarding.staged_bytes")
      #expect(staged == Int64(bytes.count))

      var state = try OnboardingWorld.record(voices: 0)
      state.responses["5"]?.value = .init(kind: .stringValue(answer.reference))
      let complete = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
      #expect(complete.filesProcessed == 1 && complete.identityExtraction?.voiceTranscribed == 1, "\(complete)")
    }
  }

  @Test("JOB-M10: two streams that end one upload at once make one recording of it, with all of its bytes")
  func endedTwice() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let bytes = try SpokenFiles.m4a(1)
      let upload = PieceUpload(name: "an-upload-ended-twice", bytes: bytes)
      try await world.withCopy { copy in
        // The first has the person's lock, and waits for the table; the other one waits for the lock, at another copy of the service.
        let ends = try await world.parley.withDatabase { database in
          try await database.transaction { transaction in
            try await transaction.execute("lock table onboarding.recording in share mode")
            let first = Task { try await upload.send(world, as: ana) }
            try await eventually { try await world.waiting(for: "relation") == 1 }
            let progress = try await world.client.getUpload(.init(uploadID: upload.name), options: OnboardingWorld.options(ana))
            #expect(progress.offset == Int64(bytes.count) && !progress.isComplete)
            let second = Task {
              try await untilNotBusy { try await upload.send(world, as: ana, from: bytes.count, to: copy) }
            }
            try await eventually { try await world.waiting(for: "advisory") == 1 }
            return [first, second]
          }
        }
        let references = try await [ends[0].value.reference, ends[1].value.reference]
        #expect(Set(references).count == 1)
      }
      let staged: Int64? = try await world.value("select sum(length(data))::bigint from onboarding.staged_bytes")
      #expect(staged == Int64(bytes.count), "what was answered with success is there")
    }
  }

  @Test(
    "O-41: what is no recording, is not what it is called, is too large or has another digest is refused, and nothing is left")
  func refused() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let bytes = try SpokenFiles.m4a(1)
      let typed = PieceUpload(name: "upload-of-the-type", bytes: bytes, type: "audio/wav")
      #expect(await typed.refusal(world, as: ana) == "AUDIO_TYPE_MISMATCH")
      let text = PieceUpload(name: "upload-of-a-text", bytes: Array("this is no recording at all, it is text".utf8))
      #expect(await text.refusal(world, as: ana) == "AUDIO_UNKNOWN_FORMAT")
      var other = PieceUpload(name: "upload-of-another", bytes: bytes)
      other.bytes[bytes.count - 1] ^= 1
      #expect(await other.refusal(world, as: ana) == "DIGEST_MISMATCH")
      var large = PieceUpload(name: "upload-too-large-it-is", bytes: bytes)
      large.head.size = (10 << 20) + 1
      #expect(await large.refusal(world, as: ana) == "AUDIO_TOO_LARGE")
      #expect(await PieceUpload(name: "short", bytes: bytes).refusal(world, as: ana) == "INVALID_ARGUMENT")
      #expect(try await world.value("select count(*) from onboarding.staged_bytes", as: Int64.self) == 0)
      #expect(try await world.value("select count(*) from onboarding.upload", as: Int64.self) == 0)
      #expect(try await world.value("select count(*) from onboarding.recording", as: Int64.self) == 0)
    }
  }
}
