import Audio
import EventLoop
import Glibc
import Subprocess
import TestSupport
import Testing

@Suite("Audio: what a recording is") struct AudioProbeTests {
  private static func failure(_ probe: AudioProbe, _ bytes: [UInt8], as format: AudioFormat) async -> AudioError.Code? {
    await #expect(throws: AudioError.self) { try await probe.facts(of: bytes, as: format) }?.code
  }

  @Test("Length and coding of each kind are read, and files that do not say their length are measured")
  func kinds() async throws {
    try await Studio.run { (studio) async throws in
      let probe = AudioProbe(studio.tools)
      // 44 bytes of header, then 22,050 samples of 16 bits a second.
      let original = Duration.seconds(Double(try await studio.speak().count - 44) / 44_100)
      #expect(original > .seconds(2))
      for kind in Studio.kinds {
        let facts = try await probe.facts(of: try await studio.spoken(as: kind.name, kind.arguments), as: kind.format)
        #expect(facts.codec == kind.codec && facts.channels == (kind.name == "float.wav" ? 2 : 1), "\(kind.name)")
        // Encoders add up to three frames of their own.
        let difference = facts.duration - original
        #expect(difference > .milliseconds(-100) && difference < .milliseconds(200), "\(kind.name): \(difference)")
        #expect([22_050, 24_000, 44_100, 48_000].contains(facts.sampleRate), "\(kind.name)")
      }
    }
  }

  @Test("A film is refused, a picture of an album is not")
  func films() async throws {
    try await Studio.run { (studio) async throws in
      let probe = AudioProbe(studio.tools)
      let inputs = ["-f", "lavfi", "-i", "testsrc=duration=1:size=64x64:rate=5", "-f", "lavfi", "-i", "sine=duration=1"]
      let film = try await studio.make("film.mp4", inputs + ["-c:v", "mpeg4", "-c:a", "aac"])
      #expect(AudioFormat.sniffed(from: film) == .m4a)
      #expect(await Self.failure(probe, film, as: .m4a) == .hasVideo)
      _ = try await studio.make("cover.png", ["-f", "lavfi", "-i", "testsrc=size=64x64", "-frames:v", "1"])
      let cover = try await studio.make(
        "cover.m4a",
        ["-i", studio.path("cover.png"), "-f", "lavfi", "-i", "sine=duration=1", "-map", "0", "-map", "1"]
          + ["-c:v", "copy", "-disposition:v", "attached_pic", "-c:a", "aac"])
      #expect(try await probe.facts(of: cover, as: .m4a).codec == "aac")
      let mute = try await studio.make(
        "mute.mp4", ["-f", "lavfi", "-i", "testsrc=duration=1:size=64x64:rate=5", "-c:v", "mpeg4"])
      #expect(await Self.failure(probe, mute, as: .m4a) == .hasVideo)
    }
  }

  @Test("Hostile files end within their limits, with a reason, and leave no process")
  func hostile() async throws {
    try await Studio.run { (studio) async throws in
      let probe = AudioProbe(studio.tools)
      let wav = try await studio.speak()
      let m4a = try await studio.spoken(as: "a.m4a", ["-c:a", "aac"])
      let text = Array(String(repeating: "I am text that is named voice. ", count: 2000).utf8)
      for format in AudioFormat.allCases {
        #expect(await Self.failure(probe, text, as: format) == .unreadable, "text as \(format)")
      }
      // The table of what is where stands at the end: without it nothing can be read.
      #expect(await Self.failure(probe, Array(m4a[..<(m4a.count / 2)]), as: .m4a) == .unreadable)
      #expect(await Self.failure(probe, Array(wav[..<20]), as: .wav) == .unreadable)
      // Boxes that claim to be larger than any file, with 32 and with 64 bits, one in the other.
      let start = Array(m4a[..<28])
      let huge: [UInt8] = [0xff, 0xff, 0xff, 0xff] + Array("moov".utf8) + [0, 0, 0, 1] + Array("trak".utf8)
      let wide = huge + [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff] + [UInt8](repeating: 0xff, count: 5000)
      #expect(await Self.failure(probe, start + wide, as: .m4a) == .unreadable)
      var deep = start
      for _ in 0..<20_000 { deep += [0x7f, 0xff, 0xff, 0xff] + Array("moov".utf8) }
      #expect(await Self.failure(probe, deep, as: .m4a) == .unreadable)
      // Random bytes behind each real beginning.
      for (format, beginning) in [(.m4a, start), (.wav, Array(wav[..<44])), (.webm, [0x1a, 0x45, 0xdf, 0xa3])]
        as [(AudioFormat, [UInt8])]
      {
        let noise = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7919 &+ $0 >> 5) }
        let outcome = await Result.of { try await probe.facts(of: beginning + noise, as: format) }
        if format == .wav {
          #expect(throws: Never.self) { try outcome.get() }
        } else {
          #expect(throws: AudioError.self) { try outcome.get() }
        }
      }
      #expect(Self.children() == 0)
    }
  }

  @Test("A few bytes that stand for hours are refused before they are decoded, and stopped where only decoding tells")
  func bombs() async throws {
    try await Studio.run { (studio) async throws in
      var tools = studio.tools
      tools.limits.duration = .seconds(60)
      let probe = AudioProbe(tools)
      for (name, format) in [("hours.ogg", .ogg), ("hours.m4a", .m4a), ("hours.mp3", .mp3)] as [(String, AudioFormat)] {
        let bomb = try await studio.make(
          name,
          ["-f", "lavfi", "-i", "anullsrc=r=8000:cl=mono", "-t", "90"]
            + (format == .ogg ? ["-c:a", "libopus", "-b:a", "6k"] : []))
        #expect(bomb.count < 5 << 20)
        #expect(await Self.failure(probe, bomb, as: format) == .tooLong, "\(name)")
        let error = await #expect(throws: AudioError.self) { try await SilenceGate(tools).judge(bomb, as: format) }
        #expect(error?.code == .tooLong && error?.isPermanent == true, "\(name)")
      }
      // A run that is not done in its time may be the machine's fault.
      tools.processLimits.time = .milliseconds(1)
      #expect(await Self.failure(AudioProbe(tools), HandmadeWAV.floats([1, 2, 3]), as: .wav) == .timedOut)
      tools = studio.tools
      tools.processLimits.memoryBytes = 64 << 20
      let starved = await Self.failure(AudioProbe(tools), HandmadeWAV.floats([1, 2, 3]), as: .wav)
      #expect(starved == .toolFailed, "a tool that has too little memory to begin with is no fault of the file")
      #expect(Self.children() == 0)
    }
  }

  @Test("O-41: a file at the limit is read, one byte more and none at all are not")
  func sizes() async throws {
    try await Studio.run { (studio) async throws in
      var tools = studio.tools
      let file = HandmadeWAV.file(HandmadeWAV.tone(0.5, milliseconds: 1000))
      tools.limits.fileSize = file.count
      #expect(try await AudioProbe(tools).facts(of: file, as: .wav).duration == .seconds(1))
      tools.limits.fileSize = file.count - 1
      #expect(await Self.failure(AudioProbe(tools), file, as: .wav) == .tooLarge)
      #expect(await Self.failure(AudioProbe(tools), [], as: .wav) == .empty)
      #expect(AudioLimits().fileSize == 10 << 20)
    }
  }

  @Test("A program that is not installed is told as such, and is no fault of the file")
  func missing() async throws {
    try await Studio.run { (studio) async throws in
      let tools = AudioTools(ffprobe: "/nowhere/ffprobe", ffmpeg: "/nowhere/ffmpeg", on: studio.pool)
      let file = HandmadeWAV.floats([1, 2, 3])
      for error in [
        await #expect(throws: AudioError.self) { _ = try await AudioProbe(tools).facts(of: file, as: .wav) },
        await #expect(throws: AudioError.self) { _ = try await SilenceGate(tools).judge(file, as: .wav) },
      ] {
        #expect(error?.code == .toolMissing && error?.isPermanent == false)
      }
    }
  }

  /// How many ffprobe or ffmpeg processes this one has left.
  private static func children() -> Int {
    var count = 0
    guard let folder = opendir("/proc") else { return -1 }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard pid_t(name) != nil else { continue }
      let descriptor = open("/proc/\(name)/stat", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      var text = [UInt8](repeating: 0, count: 256)
      let length = read(descriptor, &text, text.count)
      close(descriptor)
      let fields =
        String(decoding: text[..<max(0, length)], as: UTF8.self).split(separator: ") ").last?.split(separator: " ") ?? []
      let isTool =
        String(decoding: text, as: UTF8.self).contains("(ffprobe)") || String(decoding: text, as: UTF8.self).contains("(ffmpeg)")
      if isTool, fields.count > 1, pid_t(fields[1]) == getpid() { count += 1 }
    }
    return count
  }
}
