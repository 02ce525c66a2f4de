import Audio
import Testing

@Suite("Audio: one look at a recording") struct InspectionTests {
  @Test("A good recording of any kind is inspected by one run of the decoder, without ffprobe (PF-12)")
  func good() async throws {
    try await Studio.run { (studio) async throws in
      try await studio.speak()
      var tools = AudioTools(ffprobe: "/nowhere/ffprobe", on: studio.pool)
      tools.processLimits = studio.tools.processLimits
      let (gate, whole) = (SilenceGate(tools), SilenceGate(studio.tools))
      for kind in Studio.kinds {
        let file = try AudioFile(try await studio.spoken(as: kind.name, kind.arguments), as: kind.format)
        let (report, judged) = (try await gate.inspect(file), try await whole.judge(file))
        #expect(report == judged && report.verdict == .speechPossible, "\(kind.name): \(report) \(judged)")
      }
      let silent = try await studio.make(
        "silent.m4a", ["-f", "lavfi", "-i", "anullsrc=r=44100:cl=mono", "-t", "3", "-c:a", "aac"])
      #expect(try await gate.inspect(try AudioFile(silent, as: .m4a)).verdict == .silent)
      _ = try await studio.make("cover.png", ["-f", "lavfi", "-i", "testsrc=size=64x64", "-frames:v", "1"])
      let cover = try await studio.make(
        "cover.m4a",
        ["-i", studio.path("cover.png"), "-f", "lavfi", "-i", "sine=duration=1", "-map", "0", "-map", "1"]
          + ["-c:v", "copy", "-disposition:v", "attached_pic", "-c:a", "aac"])
      #expect(try await gate.inspect(try AudioFile(cover, as: .m4a)).verdict == .speechPossible, "a picture is no film")
    }
  }

  @Test("A film, a bomb, and what cannot be read are refused for the same reasons as before (PF-12)")
  func refused() async throws {
    try await Studio.run { (studio) async throws in
      let inputs = ["-f", "lavfi", "-i", "testsrc=duration=1:size=64x64:rate=5"]
      let sine = ["-f", "lavfi", "-i", "sine=duration=1"]
      let text = Array(String(repeating: "I am text that is named voice. ", count: 2_000).utf8)
      let cases: [([UInt8], AudioFormat, AudioError.Code)] = [
        (try await studio.make("film.mp4", inputs + sine + ["-c:v", "mpeg4", "-c:a", "aac"]), .m4a, .hasVideo),
        (try await studio.make("film.webm", inputs + sine + ["-c:v", "libvpx", "-c:a", "libopus"]), .webm, .hasVideo),
        (try await studio.make("mute.mp4", inputs + ["-c:v", "mpeg4"]), .m4a, .hasVideo), (text, .m4a, .unreadable),
        (text, .wav, .unreadable), ([], .m4a, .empty), ([], .wav, .empty),
      ]
      for (bytes, format, code) in cases {
        let error = await #expect(throws: AudioError.self) {
          try await SilenceGate(studio.tools).inspect(try AudioFile(bytes, as: format))
        }
        #expect(error?.code == code, "\(format) \(bytes.count): \(error as Any)")
      }
      var tools = studio.tools
      tools.limits.duration = .seconds(60)
      let small = tools
      let bomb = try await studio.make("hours.mp3", ["-f", "lavfi", "-i", "anullsrc=r=8000:cl=mono", "-t", "90"])
      let error = await #expect(throws: AudioError.self) {
        try await SilenceGate(small).inspect(try AudioFile(bomb, as: .mp3))
      }
      #expect(error?.code == .tooLong)
    }
  }

  @Test("Several recordings are inspected by one run of the decoder, each as by one of its own (PF-12)")
  func together() async throws {
    try await Studio.run { (studio) async throws in
      try await studio.speak()
      let gate = SilenceGate(studio.tools)
      var recordings: [AudioBytes] = []
      for kind in Studio.kinds {
        recordings.append(AudioBytes(try await studio.spoken(as: kind.name, kind.arguments), as: kind.format))
      }
      recordings.append(
        AudioBytes(
          try await studio.make(
            "silent.m4a", ["-f", "lavfi", "-i", "anullsrc=r=44100:cl=mono", "-t", "3", "-c:a", "aac"]), as: .m4a))
      _ = try await studio.make("cover.png", ["-f", "lavfi", "-i", "testsrc=size=64x64", "-frames:v", "1"])
      recordings.append(
        AudioBytes(
          try await studio.make(
            "cover.m4a",
            ["-i", studio.path("cover.png"), "-f", "lavfi", "-i", "sine=duration=1", "-map", "0", "-map", "1"]
              + ["-c:v", "copy", "-disposition:v", "attached_pic", "-c:a", "aac"]), as: .m4a))
      let reports = await gate.inspect(together: recordings)
      for (recording, report) in zip(recordings, reports) {
        // What is called WAV is inspected by itself.
        guard recording.format != .wav else {
          #expect(report == nil)
          continue
        }
        #expect(try await report == gate.inspect(try AudioFile(recording.bytes, as: recording.format)), "\(recording.format)")
      }
      #expect(reports.count { $0?.verdict == .silent } == 1)
      // As many as there may be, each a descriptor of the decoder's; and of one more nothing is known.
      let one = recordings[0]
      for (count, isKnown) in [(SilenceGate.mostTogether, true), (SilenceGate.mostTogether + 1, false), (1, false)] {
        let all = await gate.inspect(together: Array(repeating: one, count: count))
        #expect(all.count == count && all.allSatisfy { ($0 == reports[0]) == isKnown && ($0 == nil) != isKnown }, "\(count)")
      }
    }
  }

  @Test("A film, a bomb, and what cannot be read spoil no recording beside them: each is then inspected by itself (PF-12)")
  func spoilt() async throws {
    try await Studio.run { (studio) async throws in
      try await studio.speak()
      var tools = studio.tools
      tools.limits.duration = .seconds(60)
      let gate = SilenceGate(tools)
      let good = AudioBytes(try await studio.spoken(as: "a.m4a", ["-c:a", "aac"]), as: .m4a)
      let film = ["-f", "lavfi", "-i", "testsrc=duration=1:size=64x64:rate=5"]
      let sine = ["-f", "lavfi", "-i", "sine=duration=1"]
      let bad = [
        AudioBytes(try await studio.make("film.mp4", film + sine + ["-c:v", "mpeg4", "-c:a", "aac"]), as: .m4a),
        AudioBytes(try await studio.make("film.webm", film + sine + ["-c:v", "libvpx", "-c:a", "libopus"]), as: .webm),
        AudioBytes(try await studio.make("mute.mp4", film + ["-c:v", "mpeg4"]), as: .m4a),
        AudioBytes(Array(String(repeating: "I am text that is named voice. ", count: 2_000).utf8), as: .m4a),
        AudioBytes(try await studio.make("hours.mp3", ["-f", "lavfi", "-i", "anullsrc=r=8000:cl=mono", "-t", "90"]), as: .mp3),
      ]
      for bad in bad {
        #expect(await gate.inspect(together: [good, bad, good]) == [nil, nil, nil], "\(bad.format) \(bad.bytes.count)")
        await #expect(throws: AudioError.self) { try await gate.inspect(try AudioFile(bad.bytes, as: bad.format)) }
      }
      // What has no bytes is left out, and known to be nothing.
      let reports = await gate.inspect(together: [good, AudioBytes([], as: .m4a), good])
      #expect(reports[0]?.verdict == .speechPossible && reports[1] == nil && reports[2] == reports[0])
    }
  }
}
