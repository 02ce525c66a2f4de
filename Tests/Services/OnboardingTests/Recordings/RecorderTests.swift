import AuthDomain
import ClientCore
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

@Suite("What a device has recorded", .serialized)
struct RecorderTests {
  @Test(
    "O-17: what a recorder has made is what the service keeps and hears: its bytes, length, format and size",
    arguments: [true, false])
  func recorder(_ isTone: Bool) async throws {
    try await OnboardingWorld.with { world in
      let (ana, scratch) = (try await world.signIn("ana"), try ScratchFolder())
      let folder = URL(filePath: scratch.path)
      let (bytes, name) = try isTone ? (WAVTone.bytes(seconds: 5.5), "tone.wav") : (SpokenFiles.m4a(7), "said.m4a")
      try Data(bytes).write(to: folder.appending(path: name))
      let recorder: any AudioRecorder = FileAudioRecorder(
        playing: folder.appending(path: name), into: folder, duration: isTone ? nil : 7)
      // As an app does it: it asks, begins, ends, and keeps what it got as the answer.
      #expect(await recorder.requestPermission())
      let file = try await recorder.start()
      let recording = try await recorder.stop()
      #expect(recording.fileURL == file)
      var record = StoredOnboardingData(timezone: "Europe/Berlin")
      record.answer(5, try OnboardingResponseData.voice(recording, step: 5))
      let options = OnboardingWorld.options(ana)
      let answer = try await world.client.complete(.init(state: record.completed().message), options: options)
      #expect(answer.filesProcessed == 1 && answer.identityExtraction?.voiceTranscribed == 1, "\(answer)")

      let kept = try Data(contentsOf: URL(filePath: "\(world.folder)/\(ana.userID)/\(Hexadecimal.text(SHA256.digest(bytes)))"))
      #expect([UInt8](kept) == bytes)
      let told = try await world.client.getProgress(options: options).state?.responses["5"]
      #expect(told?.duration == recording.duration && told?.audioFileSize == Int64(recording.fileSize), "\(told as Any)")
      #expect(told?.audioFormat == recording.format && told?.voiceUri == file.absoluteString)
      // What the service measures by itself is what the recorder said.
      let milliseconds: Int64? = try await world.value("select duration_ms from onboarding.recording")
      #expect(abs(Double(milliseconds ?? 0) / 1_000 - recording.duration) < 0.2, "\(milliseconds as Any)")
      #expect(try await world.value("select format from onboarding.recording", as: String.self) == recording.format)
      #expect(try await world.value("select size from onboarding.recording", as: Int64.self) == Int64(recording.fileSize))
      withExtendedLifetime(scratch) {}
    }
  }
}
