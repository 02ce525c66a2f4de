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

@Suite("What is no recording though it sounds", .serialized)
struct RecordingLimitTests {
  @Test("JOB-M10, O-41: a film and a recording of more than half an hour are refused when all has come, and nothing is left")
  func uploads() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let cases = [
        ("a-film-in-mp4-01", try SpokenFiles.film("film.mp4"), "audio/mp4", "AUDIO_HAS_VIDEO"),
        ("a-film-in-webm-1", try SpokenFiles.film("film.webm"), "audio/webm", "AUDIO_HAS_VIDEO"),
        ("longer-than-that", SpokenFiles.silentWAV(seconds: 1_801), "audio/wav", "AUDIO_TOO_LONG"),
      ]
      for (name, bytes, type, reason) in cases {
        #expect(
          await PieceUpload(name: name, bytes: bytes, type: type, pieces: [1 << 19]).refusal(world, as: ana) == reason, "\(name)")
      }
      for query in [
        "select count(*) from onboarding.staged_bytes", "select count(*) from onboarding.upload",
        "select count(*) from onboarding.recording",
      ] as [Query] { #expect(try await world.value(query, as: Int64.self) == 0, "\(query)") }
      let longest = PieceUpload(
        name: "as-long-as-may-be", bytes: SpokenFiles.silentWAV(seconds: 1_800), type: "audio/wav", pieces: [1 << 19])
      #expect(try await longest.send(world, as: ana).duration?.seconds == 1_800)
    }
  }

  @Test("JOB-M10: how long an uploaded recording is is answered, each time the same, also where only decoding tells")
  func durations() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let mp3 = try SpokenFiles.made(
        "a.mp3", ["-f", "lavfi", "-i", "sine=duration=3", "-c:a", "libmp3lame", "-write_xing", "0"])
      for (name, bytes, type, seconds) in [
        ("seven-seconds-01", try SpokenFiles.m4a(1), "audio/m4a", 7.0), ("three-seconds-01", mp3, "audio/mpeg", 3.0),
      ] {
        let upload = PieceUpload(name: name, bytes: bytes, type: type)
        let answer = try await upload.send(world, as: ana)
        #expect(abs(answer.seconds - seconds) < 0.2, "\(name): \(answer.seconds)")
        #expect(try await upload.send(world, as: ana) == answer)
      }
    }
  }

  @Test("JOB-M10: where the tools that look for films are missing, an upload is taken, and its recording waits for them")
  func missingTool() async throws {
    try await OnboardingWorld.with(["AUDIO_FFPROBE": "/nowhere/ffprobe", "AUDIO_FFMPEG": "/nowhere/ffmpeg"]) { world in
      let ana = try await world.signIn("ana")
      let answer = try await PieceUpload(name: "nobody-looks-at-it", bytes: try SpokenFiles.m4a(1)).send(world, as: ana)
      #expect(answer.duration == nil && answer.reference.hasPrefix("recording:"))
      let refused = await #expect(throws: RPCError.self) {
        try await world.client.transcribe(
          .init(audio: .init(try SpokenFiles.m4a(1)), contentType: "audio/mp4"), options: OnboardingWorld.options(ana))
      }
      #expect(refused?.code == .unavailable, "\(refused as Any)")
    }
  }

  @Test("A WAV file of plain PCM needs no tool, uploaded or sent to be transcribed (PF-12)")
  func plain() async throws {
    try await OnboardingWorld.with(["AUDIO_FFPROBE": "/nowhere/ffprobe", "AUDIO_FFMPEG": "/nowhere/ffmpeg"]) { world in
      let ana = try await world.signIn("ana")
      let bytes = SpokenFiles.tone(bytes: 44 + 96_000)
      let answer = try await PieceUpload(name: "plain-upload-0001", bytes: bytes, type: "audio/wav").send(world, as: ana)
      #expect(answer.seconds == 3)
      let words = try await world.client.transcribe(
        .init(audio: .init(bytes), contentType: "audio/wav"), options: OnboardingWorld.options(ana))
      #expect(words.success && words.text.hasPrefix("words of"), "\(words)")
    }
  }

  @Test("JOB-M10, O-35, O-41: inside all answers, films and what is too long or too large are warnings that nobody is paid for")
  func inline() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      var state = try OnboardingWorld.record(voices: 1)
      state.responses["5"]?.value = .spoken(try SpokenFiles.film("film.mp4"), as: "audio/mp4")
      state.responses["7"]?.value = .spoken(SpokenFiles.silentWAV(seconds: 1_801), as: "audio/wav")
      state.responses["10"]?.value = .spoken(SpokenFiles.tone(bytes: (10 << 20) + 2), as: "audio/wav")
      let answer = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
      #expect(answer.success && answer.submission?.stage == .done && answer.identityExtraction?.voiceTranscribed == 1)
      let warnings = answer.submission?.warnings.map { "\($0.step) \($0.reason)" }
      #expect(warnings == ["5 transcription_failed", "7 transcription_failed", "10 audio_too_large"], "\(warnings ?? [])")
      #expect(answer.processingWarnings?.contains("audio_has_video") == true)
      #expect(answer.processingWarnings?.contains("audio_too_long") == true)
      #expect(try await world.sandbox.effects("transcriptions")["paid"]?.int64 == 1)
      let film = await #expect(throws: RPCError.self) {
        try await world.client.transcribe(
          .init(audio: .init(try SpokenFiles.film("film.webm")), contentType: "audio/webm"), options: OnboardingWorld.options(ana)
        )
      }
      #expect(film?.code == .invalidArgument && film?.reason == "AUDIO_HAS_VIDEO", "\(film as Any)")
    }
  }

  @Test("O-48: by plain HTTP a declared type has to agree too, in whatever case; none at all, or only bytes, is no declaration")
  func declared() async throws {
    try await OnboardingWorld.with(["RATE_LIMITS": "transcriptions=100/100"]) { world in
      let ana = try await world.signIn("ana")
      let bytes = try SpokenFiles.silence()
      let undeclared = ["", "application/octet-stream", "Application/Octet-Stream", "application/x-www-form-urlencoded"]
      let agreeing = ["audio/mp4", "Audio/MP4", "audio/x-m4a; codecs=mp4a"]
      for (types, status) in [(undeclared + agreeing, 200), (["video/mp4", "text/plain", "audio/wav"], 400)] {
        for type in types {
          let headers: HTTPHeaders = type.isEmpty ? [:] : ["Content-Type": type]
          let answer = try await world.post("/transcribe/audio", bytes, as: ana, headers)
          #expect(answer.status == status, "\(type): \(answer)")
          if status == 400 { #expect(answer.body["code"]?.string == "AUDIO_TYPE_MISMATCH", "\(type): \(answer)") }
        }
      }
    }
  }
}
