import ClientCore
import Foundation
import JSON
import TestSupport
import Testing

@Suite("Recordings on the device")
struct RecordingTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  private func file(_ name: String, _ bytes: [UInt8]) throws -> URL {
    let url = URL(filePath: folder.path + "/" + name)
    try Data(bytes).write(to: url)
    return url
  }

  private func code(_ body: () throws -> Void) -> OnboardingError.Code? {
    do { try body() } catch { return (error as? OnboardingError)?.code }
    return nil
  }

  @Test("O-17: a recorder asks for permission, begins a file, and ends with its place, length, format and size")
  func recorder() async throws {
    let tone = WAVTone.bytes(seconds: 2.5)
    let recorder: any AudioRecorder = FileAudioRecorder(
      playing: try file("tone.wav", tone), into: URL(filePath: folder.path))
    #expect(await recorder.requestPermission())
    let begun = try await recorder.start()
    let recording = try await recorder.stop()
    #expect(recording.fileURL == begun && recording.format == "wav" && recording.duration == 2.5)
    let written = [UInt8](try Data(contentsOf: begun))
    #expect(recording.fileSize == tone.count && written == tone)
    // The next one is another file.
    #expect(try await recorder.start() != begun)
  }

  @Test("O-17: without permission, twice at once, or without a beginning nothing is recorded")
  func refusals() throws {
    let source = try file("a.m4a", [1, 2, 3])
    let denied = FileAudioRecorder(playing: source, into: URL(filePath: folder.path), permits: false)
    #expect(!denied.requestPermission())
    #expect(code { _ = try denied.start() } == .notPermitted)
    let recorder = FileAudioRecorder(playing: source, into: URL(filePath: folder.path), duration: 6)
    #expect(code { _ = try recorder.start() } == .notPermitted)
    _ = recorder.requestPermission()
    #expect(code { _ = try recorder.stop() } == .notRecording)
    _ = try recorder.start()
    #expect(code { _ = try recorder.start() } == .notRecording)
    #expect(try recorder.stop().duration == 6)
  }

  @Test("O-18: an m4a becomes a data URL of audio/m4a in base64, and comes out of it byte by byte")
  func dataURL() throws {
    let bytes = (0...255).map { UInt8($0) }
    let recording = AudioRecording(fileURL: try file("a.m4a", bytes), duration: 8, format: "m4a", fileSize: bytes.count)
    let answer = try OnboardingResponseData.voice(recording, step: 5)
    let text = try #require(answer.value?.string)
    #expect(text == "data:audio/m4a;base64," + Data(bytes).base64EncodedString())
    #expect(answer.duration == 8 && answer.audioFileSize == 256 && answer.audioFormat == "m4a")
    #expect(answer.voiceUri == recording.fileURL.absoluteString && answer.type == "voice")
    #expect(DataURL(text)?.bytes == bytes && DataURL(text)?.mediaType == "audio/m4a")
  }

  @Test(
    "Formats have the media types that the service knows",
    arguments: [
      ("m4a", "audio/m4a"), ("M4A", "audio/m4a"), ("mp4", "audio/m4a"), ("aac", "audio/aac"), ("mp3", "audio/mpeg"),
      ("wav", "audio/wav"), ("webm", "audio/webm"), ("txt", nil), ("", nil),
    ] as [(String, String?)])
  func formats(_ format: String, _ type: String?) throws {
    #expect(DataURL.mediaType(ofFormat: format) == type)
    let recording = AudioRecording(fileURL: try file("x", [1]), duration: 9, format: format, fileSize: 1)
    #expect((try? DataURL(recording))?.mediaType == type)
  }

  @Test(
    "O-18: data URLs are read with and without parameters, in either case, strictly",
    arguments: [
      ("data:audio/m4a;base64,AQID", "audio/m4a"), ("DATA:Audio/M4A;BASE64,AQID", "audio/m4a"),
      ("data:audio/webm;codecs=opus;base64,AQID", "audio/webm"), ("data:audio/m4a,AQID", nil), ("data:;base64,AQID", nil),
      ("data:audio;base64,AQID", nil), ("data:audio/m4a;base64,A*ID", nil), ("data:audio/m4a;base64AQID", nil),
      ("audio/m4a;base64,AQID", nil), ("", nil), ("data:audio/m4a;base64,A", nil),
    ] as [(String, String?)])
  func parser(_ text: String, _ type: String?) {
    let url = DataURL(text)
    #expect(url?.mediaType == type && (type == nil || url?.bytes == [1, 2, 3]))
  }

  @Test(
    "O-20: a recording that is shorter than its step asks for is no answer: 5 s unless the catalogue says otherwise",
    arguments: [(5, 4.999, false), (5, 5, true), (2, 9.9, false), (2, 10, true), (16, 6, true), (16, 5.9, false)])
  func minimum(_ step: Int, _ duration: Double, _ isEnough: Bool) throws {
    let limits = RecordingLimits(minima: [2: 10, 16: 6])
    let recording = AudioRecording(fileURL: try file("a.m4a", [1]), duration: duration, format: "m4a", fileSize: 1)
    let code = code { _ = try OnboardingResponseData.voice(recording, step: step, limits: limits) }
    #expect(code == (isEnough ? nil : .tooShort))
  }

  @Test("O-41: a recording of 10 MiB is an answer, and one byte more is none")
  func largest() throws {
    let limit = RecordingLimits.maximumBytes
    #expect(limit == 10 << 20)
    for (size, isTaken) in [(limit, true), (limit + 1, false)] {
      let file = try file("\(size).m4a", [UInt8](repeating: 0, count: size))
      let recording = AudioRecording(fileURL: file, duration: 9, format: "m4a", fileSize: size)
      #expect(code { _ = try OnboardingResponseData.voice(recording, step: 5) } == (isTaken ? nil : .tooLarge))
    }
  }

  @Test("O-20: the limits come from the service's catalogue")
  func catalogue() async throws {
    try await OnboardingWorld.run { world in
      let limits = try await world.push().recordingLimits()
      #expect(limits.minimum(of: 2) == 10 && limits.minimum(of: 5) == 1.5 && limits.minimum(of: 43) == 7)
      #expect(limits.minimum(of: 10) == 5)
    }
  }

  @Test("A recording whose file is gone is no answer")
  func gone() {
    let recording = AudioRecording(fileURL: URL(filePath: folder.path + "/none.m4a"), duration: 9, format: "m4a", fileSize: 1)
    #expect(code { _ = try OnboardingResponseData.voice(recording, step: 5) } == .unreadable)
  }

  @Test("Tones are as long as they say", arguments: [0, 0.5, 5, 10.25])
  func tones(_ seconds: Double) {
    let bytes = WAVTone.bytes(seconds: seconds)
    #expect(bytes.count == 44 + Int(seconds * 8_000) && WAVTone.duration(of: bytes) == seconds)
    #expect(WAVTone.duration(of: Array(bytes.dropLast(44))) == nil || seconds > 0)
    #expect(WAVTone.duration(of: []) == nil && WAVTone.duration(of: Array("RIFFxxxxWAVE".utf8)) == nil)
  }
}
