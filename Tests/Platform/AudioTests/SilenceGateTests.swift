import Audio
import Testing

@Suite("Audio: silence and speech") struct SilenceGateTests {
  @Test("JOB-S8: somebody who speaks is heard in each kind of file, loud or quiet")
  func speech() async throws {
    try await Studio.run { (studio) async throws in
      let gate = SilenceGate(studio.tools)
      try await studio.speak()
      for kind in Studio.kinds {
        let report = try await gate.judge(try await studio.spoken(as: kind.name, kind.arguments), as: kind.format)
        #expect(report.verdict == .speechPossible && report.sound > .seconds(1), "\(kind.name): \(report)")
      }
      let quiet = try await studio.spoken(as: "quiet.m4a", ["-af", "volume=-25dB", "-c:a", "aac"])
      let report = try await gate.judge(quiet, as: .m4a)
      #expect(report.verdict == .speechPossible && report.loudest < -25)
    }
  }

  @Test("JOB-S8: silence and the noise of a quiet room are silent whatever they were coded with")
  func silence() async throws {
    try await Studio.run { (studio) async throws in
      let gate = SilenceGate(studio.tools)
      for source in ["anullsrc=r=44100:cl=mono", "anoisesrc=r=44100:amplitude=0.0005:color=pink:seed=7"] {
        for kind in Studio.kinds where ["a.m4a", "a.mp3", "a.webm", "a.ogg"].contains(kind.name) {
          let bytes = try await studio.make("silent-" + kind.name, ["-f", "lavfi", "-i", source, "-t", "3"] + kind.arguments)
          let report = try await gate.judge(bytes, as: kind.format)
          #expect(report.verdict == .silent && report.sound < .milliseconds(200), "\(kind.name): \(report)")
        }
      }
    }
  }

  @Test("Loudness is measured as it is defined, and a constant offset is no sound")
  func levels() async throws {
    try await Studio.run { (studio) async throws in
      let gate = SilenceGate(studio.tools)
      // A triangle's root mean square is 4.77 dB below its peak.
      for (amplitude, peak) in [(1.0, 0.0), (0.5, -6.02), (0.01, -40)] {
        let report = try await gate.judge(HandmadeWAV.file(HandmadeWAV.tone(amplitude, milliseconds: 2000)), as: .wav)
        #expect(abs(report.peak - peak) < 0.1 && abs(report.loudest - (peak - 4.77)) < 0.1, "\(report)")
        #expect(report.duration == .seconds(2) && report.sound == .seconds(2))
      }
      let offset = try await gate.judge(HandmadeWAV.file([Int16](repeating: 8000, count: 32_000)), as: .wav)
      #expect(offset.verdict == .silent && offset.loudest == -120 && offset.peak > -13)
      let nothing = try await gate.judge(HandmadeWAV.file([Int16](repeating: 0, count: 32_000)), as: .wav)
      #expect(nothing.verdict == .silent && nothing.peak == -120)
    }
  }

  @Test("Each rule holds at its edge")
  func edges() async throws {
    try await Studio.run { (studio) async throws in
      let gate = SilenceGate(studio.tools)
      func verdict(_ samples: [Int16]) async throws -> SilenceReport.Verdict {
        try await gate.judge(HandmadeWAV.file(samples), as: .wav).verdict
      }
      #expect(try await verdict(HandmadeWAV.tone(0.5, milliseconds: 400)) == .speechPossible)
      #expect(try await verdict(HandmadeWAV.tone(0.5, milliseconds: 399)) == .tooShort)
      let pause = [Int16](repeating: 0, count: 16_000)
      #expect(try await verdict(HandmadeWAV.tone(0.5, milliseconds: 200) + pause) == .speechPossible)
      #expect(try await verdict(HandmadeWAV.tone(0.5, milliseconds: 180) + pause) == .silent)
      // -49.8 and -50.2 dBFS, by the same root mean square.
      #expect(try await verdict(HandmadeWAV.tone(0.0056, milliseconds: 1000)) == .speechPossible)
      #expect(try await verdict(HandmadeWAV.tone(0.0052, milliseconds: 1000)) == .silent)
      var rules = SilenceRules()
      rules.threshold = -3
      #expect(
        try await SilenceGate(studio.tools, rules: rules).judge(
          HandmadeWAV.file(HandmadeWAV.tone(0.5, milliseconds: 1000)), as: .wav
        ).verdict == .silent)
    }
  }
}
