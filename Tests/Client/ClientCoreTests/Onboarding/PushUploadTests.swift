import JSON
import ParleyAPI
import RPC
import ScriptedOnboarding
import TestSupport
import Testing
import WellKnown

@testable import ClientCore

@Suite("Recordings that travel by themselves")
struct PushUploadTests {
  /// A complete record with a recording that takes three pieces, and a small one.
  private static func record() -> StoredOnboardingData {
    var data = OnboardingWorld.record()
    data.answer(7, OnboardingWorld.voice(7, bytes: 20_000))
    return data
  }

  private func bytes(_ step: Int, in data: StoredOnboardingData) -> [UInt8] {
    DataURL(data.responses[step]?.value?.string ?? "")?.bytes ?? []
  }

  /// Checks that each recording is there, whole, and is what its answer refers to.
  private func check(_ service: ScriptedOnboarding, _ data: StoredOnboardingData) throws {
    let sent = try #require(service.state.completes.last?.state)
    for (step, answer) in data.responses where answer.type == "voice" {
      let recording = bytes(step, in: data)
      let name = SHA256.hexadecimal(recording)
      #expect(sent.responses["\(step)"]?.value?.kind == .stringValue("recording:\(name)"))
      let upload = try #require(service.state.uploads[name])
      #expect(upload.bytes == recording && upload.head.contentType == "audio/m4a")
      #expect(Array(upload.head.sha256) == SHA256.digest(recording) && upload.head.size == Int64(recording.count))
    }
    #expect(sent.responses["3"]?.value?.kind == .stringValue("Ana"))
  }

  @Test(
    "O-41, O-42: answers beyond the largest request go with references, their recordings ahead in pieces",
    arguments: ["gRPC", "Connect"])
  func tooLarge(_ wire: String) async throws {
    try await OnboardingWorld.run(wire) { world in
      try await world.push().markCompleted(Self.record())
      let states = try await world.push { $0.maximumRequestBytes = 10_000 }.states().map(short)
      #expect(states.prefix(6) == ["idle", "checking", "uploading 0/3", "uploading 1/3", "uploading 2/3", "uploading 3/3"])
      #expect(states.last == "complete")
      try check(world.service, Self.record())
    }
  }

  @Test("O-42: recordings go ahead when the app wants them to, and otherwise not below the limit")
  func always() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(Self.record())
      _ = try await world.push().pushToBackend()
      #expect(world.service.state.uploads.isEmpty)
      var other = Self.record()
      other.answer(9, .text("other"))
      try await world.push().markCompleted(other)
      _ = try await world.push { $0.uploads = .always }.pushToBackend()
      try check(world.service, other)
    }
  }

  @Test("O-42: an upload that breaks off goes on where it had come to", arguments: ["gRPC", "Connect"])
  func broken(_ wire: String) async throws {
    try await OnboardingWorld.run(wire) { world in
      try await world.push().markCompleted(Self.record())
      world.service.change { $0.uploadBreaks = [1_000, 200, 5_000] }
      #expect(try await world.push { $0.uploads = .always }.states().last.map(short) == "complete")
      // The recording of step 2 breaks twice, that of step 5 once, and nothing of them is sent twice.
      let offsets = world.service.state.offsets
      #expect(offsets.prefix(3) == [0, 1_000, 1_200])
      try check(world.service, Self.record())
    }
  }

  @Test("O-42: after a restart an upload goes on under its name, and what is complete is not sent again")
  func restart() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(Self.record())
      world.service.change { $0.uploadBreaks = [.max, 1_000, 100] }
      #expect(try await world.push { ($0.uploads, $0.attempts) = (.always, 1) }.states().last.map(short) == "failed network")
      #expect(try await world.push { $0.uploads = .always }.states().last.map(short) == "complete")
      #expect(world.service.state.offsets == [0, 0, 1_000, 1_100, 0])
      try check(world.service, Self.record())
    }
  }

  @Test("O-42: a service that has another idea of the place is asked again")
  func otherPlace() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(Self.record())
      world.service.change { $0.refusals["UploadRecording"] = [ScriptedOnboarding.refusal(.outOfRange, "WRONG_OFFSET")] }
      #expect(try await world.push { $0.uploads = .always }.states().last.map(short) == "complete")
      try check(world.service, Self.record())
    }
  }

  @Test("O-42: a recording that the service does not take stays in the request, and the others travel ahead of it")
  func refused() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(Self.record())
      world.service.change {
        $0.refusals["UploadRecording"] = [ScriptedOnboarding.refusal(.invalidArgument, "AUDIO_UNKNOWN_FORMAT")]
      }
      #expect(try await world.push { $0.uploads = .always }.states().last.map(short) == "complete")
      let sent = try #require(world.service.state.completes.only?.state)
      let inline = Self.record().responses[2]?.value?.string ?? ""
      #expect(sent.responses["2"]?.value?.kind == .stringValue(inline))
      #expect(world.service.state.uploads.count == 2)
    }
  }

  @Test("O-41: a service that takes less than expected gets references instead, once")
  func serverTooLarge() async throws {
    try await OnboardingWorld.run { world in
      try await world.push().markCompleted(Self.record())
      world.service.change { $0.maximumTextBytes = 10_000 }
      #expect(try await world.push().states().last.map(short) == "complete")
      #expect(world.service.state.completes.count == 2)
      #expect(Set(world.service.state.completes.map(\.idempotencyKey)).count == 1)
      try check(world.service, Self.record())
      world.service.change { $0.maximumTextBytes = 10 }
      try await world.push().markCompleted(Self.record())
      #expect(try await world.push().states().last.map(short) == "failed tooLarge")
      #expect(try await world.push().hasPendingData())
    }
  }

  @Test("O-41: recordings beyond 10 MiB, other data and bad base64 stay in the request, for the service to say what is wrong")
  func notUploaded() throws {
    func upload(_ text: String) -> RecordingUpload? {
      RecordingUpload(OnboardingAnswer(type: "voice", value: .init(kind: .stringValue(text))), maximumBytes: 1_000)
    }
    let largest = [UInt8](repeating: 0, count: 1_000)
    #expect(upload(DataURL(mediaType: "audio/m4a", bytes: largest).text)?.bytes.count == 1_000)
    #expect(upload(DataURL(mediaType: "audio/m4a", bytes: largest + [0]).text) == nil)
    for text in ["data:audio/m4a;base64,", "data:audio/m4a;base64,#", "data:image/png;base64,AAAA", "recording:00", "words"] {
      #expect(upload(text) == nil)
    }
    #expect(RecordingUpload(OnboardingAnswer(type: "voice")) == nil)
  }
}
