import Audio
import EventLoop
import TestRandom
import TestSupport
import Testing

@Suite("Audio: WAV files that are read here") struct WaveSoundTests {
  private typealias WAV = HandmadeWAV

  private static func sound(_ bytes: [UInt8]) -> WaveSound? { bytes.withUnsafeBytes { WaveSound($0) } }

  private static func samples(_ bytes: [UInt8]) -> [Int16]? {
    bytes.withUnsafeBytes { bytes in
      WaveSound(bytes).map { sound in
        var samples: [Int16] = []
        sound.forEachSample(in: bytes) { samples.append($0) }
        return samples
      }
    }
  }

  /// What the chunk `fmt ` says; each number may be another one.
  private static func format(
    kind: Int = 1, channels: Int = 1, rate: Int = 8_000, bits: Int = 16, bytesPerSecond: Int? = nil, frame: Int? = nil,
    more: [UInt8] = []
  ) -> [UInt8] {
    let head = WAV.little(kind, 2) + WAV.little(channels, 2) + WAV.little(rate, 4)
    let sizes = WAV.little(bytesPerSecond ?? rate * channels * bits / 8, 4) + WAV.little(frame ?? channels * bits / 8, 2)
    return WAV.chunk("fmt ", head + sizes + WAV.little(bits, 2) + more)
  }

  /// What follows in the longer form: 22 bytes, among them the identifier of PCM, or of another coding.
  private static func extended(bits: Int, coding: UInt8 = 1) -> [UInt8] {
    WAV.little(22, 2) + WAV.little(bits, 2) + WAV.little(4, 4)
      + [coding, 0, 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71]
  }

  private static let data = WAV.chunk("data", [1, 0, 0, 0x80])

  @Test("Samples of 8, 16, 24 and 32 bits are read as 16, and channels as their mean (PF-12)")
  func widths() {
    let cases: [(bits: Int, channels: Int, data: [UInt8], samples: [Int16])] = [
      (16, 1, [1, 0, 0, 0x80, 0xff, 0x7f], [1, -32_768, 32_767]), (8, 1, [0x80, 0, 0xff], [0, -32_768, 32_512]),
      (24, 1, [9, 1, 0, 9, 0, 0x80], [1, -32_768]), (32, 1, [9, 9, 2, 0, 9, 9, 0xfe, 0xff], [2, -2]),
      (16, 2, [2, 0, 4, 0, 0, 0x80, 0, 0x80], [3, -32_768]), (8, 2, [0x80, 0x82], [256]),
    ]
    for (bits, channels, data, samples) in cases {
      let file = WAV.riff(Self.format(channels: channels, bits: bits) + WAV.chunk("data", data))
      #expect(Self.samples(file) == samples, "\(bits) bits, \(channels) channels")
      #expect(Self.sound(file)?.channels == channels && Self.sound(file)?.sampleRate == 8_000)
    }
  }

  @Test(
    "What stands around the samples is no matter: the longer forms, known chunks, an odd one with its padding or without (PF-12)")
  func accepted() {
    let files: [[UInt8]] = [
      WAV.riff(Self.format() + Self.data), WAV.riff(Self.format(more: [0, 0]) + Self.data),
      WAV.riff(Self.format(kind: 0xfffe, more: Self.extended(bits: 16)) + Self.data),
      WAV.riff(WAV.chunk("LIST", [1, 2, 3]) + Self.format() + WAV.chunk("fact", [0, 0, 0, 0]) + Self.data),
      WAV.riff(Self.format() + Self.data + WAV.chunk("id3 ", [1])), WAV.riff(Self.format() + Self.data + WAV.chunk("JUNK", [])),
      // The padding of the last chunk may be missing.
      WAV.riff(Self.format(bits: 8) + (WAV.chunk("data", [1, 2, 3]).dropLast())),
    ]
    for (index, file) in files.enumerated() { #expect(Self.sound(file) != nil, "file \(index)") }
    #expect(Self.samples(files[0]) == [1, -32_768] && Self.sound(files[0])?.duration == .microseconds(250))
    #expect(Self.sound(files[0])?.codec == "pcm_s16le" && Self.sound(files[6])?.codec == "pcm_u8")
  }

  @Test("Whatever lies, is cut off or is something else is left to the decoder (PF-12)")
  func refused() {
    let format = Self.format()
    var files: [(String, [UInt8])] = [
      ("nothing", []), ("a head alone", WAV.riff([])), ("no samples", WAV.riff(format)), ("no format", WAV.riff(Self.data)),
      ("samples before their format", WAV.riff(Self.data + format)), ("two formats", WAV.riff(format + format + Self.data)),
      ("two of samples", WAV.riff(format + Self.data + Self.data)), ("an empty one", WAV.riff(format + WAV.chunk("data", []))),
      ("half a sample", WAV.riff(format + WAV.chunk("data", [1, 2, 3]))),
      ("another chunk", WAV.riff(format + WAV.chunk("SMV0", [1, 2]) + Self.data)),
      ("a chunk beyond the end", WAV.riff(format + Array("data".utf8) + WAV.little(5, 4) + [1, 2, 3, 4])),
      ("the largest chunk", WAV.riff(format + Array("data".utf8) + WAV.little(0xffff_ffff, 4) + [1, 2])),
      ("half a chunk's head", WAV.riff(format + Self.data + Array("LIS".utf8))),
      ("a file that says less", Array("RIFF".utf8) + WAV.little(4, 4) + Array("WAVE".utf8) + format + Self.data),
      ("a file that says more", Array("RIFF".utf8) + WAV.little(0xffff_fff0, 4) + Array("WAVE".utf8) + format + Self.data),
      ("RF64", Array("RF64".utf8) + WAV.riff(format + Self.data).dropFirst(4)),
      ("RIFX", Array("RIFX".utf8) + WAV.riff(format + Self.data).dropFirst(4)),
      ("AVI", WAV.riff(format + Self.data).prefix(8) + Array("AVI ".utf8) + WAV.riff(format + Self.data).dropFirst(12)),
      ("a short format", WAV.riff(WAV.chunk("fmt ", [1, 0, 1, 0]) + Self.data)),
      ("a long one", WAV.riff(Self.format(more: [1, 0]) + Self.data)),
      ("another coding, longer", WAV.riff(Self.format(kind: 0xfffe, more: Self.extended(bits: 16, coding: 3)) + Self.data)),
      ("fewer bits that count", WAV.riff(Self.format(kind: 0xfffe, more: Self.extended(bits: 12)) + Self.data)),
    ]
    let formats: [(String, [UInt8])] = [
      ("floats", Self.format(kind: 3, bits: 32)), ("A-law", Self.format(kind: 6, bits: 8)), ("no coding", Self.format(kind: 0)),
      ("0 channels", Self.format(channels: 0)), ("9 channels", Self.format(channels: 9, frame: 18)),
      ("65,535 channels", Self.format(channels: 65_535)), ("no rate", Self.format(rate: 0)),
      ("a low rate", Self.format(rate: 999)),
      ("a high rate", Self.format(rate: 768_001)), ("the highest", Self.format(rate: 0xffff_ffff)),
      ("0 bits", Self.format(bits: 0)),
      ("12 bits", Self.format(bits: 12)), ("40 bits", Self.format(bits: 40)), ("65,535 bits", Self.format(bits: 65_535)),
      ("a wrong frame", Self.format(frame: 4)), ("no frame", Self.format(frame: 0)),
      ("a wrong pace", Self.format(bytesPerSecond: 0)),
    ]
    // 72 is a multiple of each frame.
    for (name, format) in formats { files.append((name, WAV.riff(format + WAV.chunk("data", [UInt8](repeating: 1, count: 72))))) }
    for (name, file) in files { #expect(Self.sound(file) == nil, "\(name)") }
  }

  @Test("A file has at most 64 chunks, and with one more is left to the decoder (PF-12)")
  func chunks() {
    func file(_ count: Int) -> [UInt8] {
      let others = [[UInt8]](repeating: WAV.chunk("JUNK", []), count: count - 2).flatMap { $0 }
      return WAV.riff(Self.format() + others + Self.data)
    }
    #expect(Self.sound(file(WaveSound.mostChunks)) != nil && WaveSound.mostChunks == 64)
    #expect(Self.sound(file(WaveSound.mostChunks + 1)) == nil)
  }

  @Test("No byte is read outside a file, wherever it is cut and whatever is changed in it (PF-12)")
  func bounds() {
    let whole = WAV.riff(WAV.chunk("LIST", [1, 2, 3]) + Self.format(channels: 2) + Self.data)
    for count in 0..<whole.count { #expect(Self.sound(Array(whole[..<count])) == nil, "\(count) bytes") }
    let seed = UInt64.random(in: 0...(.max))
    var random = SeededRandom(seed)
    for _ in 0..<20_000 {
      var file = whole
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        file[Int.random(in: 0..<file.count, using: &random)] = .random(in: 0...255, using: &random)
      }
      guard let sound = Self.sound(file) else { continue }
      #expect(sound.data.lowerBound >= 12 && sound.data.upperBound <= file.count && sound.frames > 0, "seed \(seed)")
      #expect(Self.samples(file)?.count == sound.frames, "seed \(seed)")
    }
  }

  @Test("Plain PCM needs no program, and is judged as the decoder judges it (PF-12)")
  func judged() async throws {
    try await Studio.run { (studio) async throws in
      let spoken = try await studio.speak()
      let nowhere = AudioTools(ffprobe: "/nowhere/ffprobe", ffmpeg: "/nowhere/ffmpeg", on: studio.pool)
      let facts = try await AudioProbe(nowhere).facts(of: spoken, as: .wav)
      let decoded = try await SilenceGate(studio.tools).judge(
        try await studio.spoken(as: "float.wav", ["-c:a", "pcm_f32le"]), as: .wav)
      for arguments in [[], ["-c:a", "pcm_u8"], ["-c:a", "pcm_s24le"], ["-c:a", "pcm_s32le"]] as [[String]] {
        let bytes = try await studio.spoken(as: "plain.wav", arguments)
        let report = try await SilenceGate(nowhere).inspect(try AudioFile(bytes, as: .wav))
        #expect(
          report.verdict == .speechPossible && abs((report.duration - decoded.duration) / .seconds(1)) < 0.01, "\(arguments)")
        #expect(
          abs(report.loudest - decoded.loudest) < 1 && abs((report.sound - decoded.sound) / .seconds(1)) < 0.2, "\(arguments)")
      }
      #expect(facts.codec == "pcm_s16le" && facts.sampleRate == 22_050 && facts.channels == 1)
      #expect(abs((facts.duration - decoded.duration) / .seconds(1)) < 0.01)
      var short = nowhere
      short.limits.duration = .seconds(1)
      let tools = short
      for samples in [16_000, 16_001] {
        let file = try AudioFile(WAV.file([Int16](repeating: 0, count: samples)), as: .wav)
        let outcome = await Result.of { try await SilenceGate(tools).inspect(file).verdict }
        if samples == 16_000 {
          #expect(try outcome.get() == .silent)
        } else {
          #expect(throws: AudioError.self) { try outcome.get() }
          #expect(await Result.of { try await AudioProbe(tools).check(file) }.failureCode == .tooLong)
        }
      }
    }
  }
}

extension Result {
  fileprivate var failureCode: AudioError.Code? {
    if case .failure(let error as AudioError) = self { return error.code }
    return nil
  }
}
