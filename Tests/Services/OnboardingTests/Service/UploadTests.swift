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
  static func head(_ bytes: [UInt8], _ name: String, offset: Int = 0, type: String = "audio/m4a") -> RecordingHead {
    .init(
      uploadID: name, contentType: type, sha256: .init(SHA256.digest(bytes)), size: Int64(bytes.count), offset: Int64(offset))
  }

  /// Sends pieces, from one of the bytes on.
  static func upload(
    _ world: OnboardingWorld, _ user: TestUser, _ head: RecordingHead, _ bytes: ArraySlice<UInt8>, piece: Int = 10_000,
    to client: ParleyAPI.OnboardingService.Client? = nil
  ) async throws -> UploadRecordingResponse {
    try await (client ?? world.client).uploadRecording(options: OnboardingWorld.options(user)) { requests in
      try await requests.write(.init(head: head))
      var rest = bytes
      while !rest.isEmpty {
        try await requests.write(.init(data: .init(rest.prefix(piece))))
        rest = rest.dropFirst(piece)
      }
    }
  }

  @Test("O-42, JOB-M10: a recording that comes in pieces goes on where it broke off, and is kept once")
  func resumed() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let bytes = try SpokenFiles.m4a(1)
      let name = "the-upload-of-ana"
      let broken = await #expect(throws: RPCError.self) {
        try await Self.upload(world, ana, Self.head(bytes, name), bytes[..<25_000])
      }
      #expect(broken?.reason == "WRONG_OFFSET", "\(broken as Any)")
      let progress = try await world.client.getUpload(.init(uploadID: name), options: OnboardingWorld.options(ana))
      #expect(progress.offset == 25_000 && !progress.isComplete)
      let wrong = await #expect(throws: RPCError.self) {
        try await Self.upload(world, ana, Self.head(bytes, name, offset: 20_000), bytes[20_000...])
      }
      #expect(wrong?.code == .outOfRange)
      let answer = try await Self.upload(world, ana, Self.head(bytes, name, offset: 25_000), bytes[25_000...])
      let digest = SHA256.digest(bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      #expect(answer.reference == "recording:\(digest)" && answer.size == Int64(bytes.count))
      // The same again changes nothing, and neither does the same content under another name.
      #expect(try await Self.upload(world, ana, Self.head(bytes, name), []) == answer)
      #expect(try await Self.upload(world, ana, Self.head(bytes, "another-name-of-it"), bytes[...]) == answer)
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
      let name = "an-upload-ended-twice"
      try await world.withCopy { copy in
        // The first has the person's lock, and waits for the table; the other one waits for the lock, at another copy of the service.
        let ends = try await world.parley.withDatabase { database in
          try await database.transaction { transaction in
            try await transaction.execute("lock table onboarding.recording in share mode")
            let first = Task { try await Self.upload(world, ana, Self.head(bytes, name), bytes[...]) }
            try await eventually { try await world.waiting(for: "relation") == 1 }
            let progress = try await world.client.getUpload(.init(uploadID: name), options: OnboardingWorld.options(ana))
            #expect(progress.offset == Int64(bytes.count) && !progress.isComplete)
            let second = Task {
              try await untilNotBusy {
                try await Self.upload(world, ana, Self.head(bytes, name, offset: bytes.count), [], to: copy)
              }
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
      func reason(_ head: RecordingHead, _ sent: [UInt8]) async -> String? {
        do {
          _ = try await Self.upload(world, ana, head, sent[...])
          return nil
        } catch { return (error as? RPCError)?.reason }
      }
      #expect(await reason(Self.head(bytes, "upload-of-the-type", type: "audio/wav"), bytes) == "AUDIO_TYPE_MISMATCH")
      let text = Array("this is no recording at all, it is text".utf8)
      #expect(await reason(Self.head(text, "upload-of-a-text"), text) == "AUDIO_UNKNOWN_FORMAT")
      var other = bytes
      other[bytes.count - 1] ^= 1
      #expect(await reason(Self.head(bytes, "upload-of-another"), other) == "DIGEST_MISMATCH")
      var large = Self.head(bytes, "upload-too-large-it-is")
      large.size = (10 << 20) + 1
      #expect(await reason(large, bytes) == "AUDIO_TOO_LARGE")
      #expect(await reason(Self.head(bytes, "short"), bytes) == "INVALID_ARGUMENT")
      #expect(try await world.value("select count(*) from onboarding.staged_bytes", as: Int64.self) == 0)
      #expect(try await world.value("select count(*) from onboarding.upload", as: Int64.self) == 0)
      #expect(try await world.value("select count(*) from onboarding.recording", as: Int64.self) == 0)
    }
  }
}
