import Audio
import EventLoop
import Subprocess
import TestSandbox
import TestSupport

/// Makes real recordings with espeak-ng and ffmpeg, and has the tools that judge them.
final class Studio: Sendable {
  private let folder: TestFolder
  let pool: BlockingPool

  private init(_ folder: TestFolder, _ pool: BlockingPool) { (self.folder, self.pool) = (folder, pool) }

  /// Runs `body` in a studio, and leaves no process, thread or file behind.
  static func run(_ body: (Studio) async throws -> Void) async throws {
    let pool = BlockingPool(maximumThreads: 2)
    defer { pool.shutDown() }
    try await body(Studio(try TestFolder(), pool))
  }

  /// The tools as services use them, with more time for slow machines.
  var tools: AudioTools {
    var tools = AudioTools(on: pool)
    tools.processLimits.time = Duration.seconds(60).withPatience
    tools.processLimits.cpuSeconds = 30
    return tools
  }

  /// Where a file is that was made here.
  func path(_ name: String) -> String { folder.path(name) }

  /// What ffmpeg makes of these arguments, in a file of that name.
  func make(_ name: String, _ arguments: [String]) async throws -> [UInt8] {
    let command = ["ffmpeg", "-nostdin", "-v", "error", "-y"] + arguments + [folder.path(name)]
    let log = folder.path("log")
    try await pool.run { try ChildProcess.run(command, output: log) }
    return folder.bytes(name)
  }

  /// Somebody who says something, as `spoken.wav`.
  @discardableResult
  func speak(_ text: String = "I promise to run every morning before work, and to call my mother.") async throws -> [UInt8] {
    let (path, log) = (folder.path("spoken.wav"), folder.path("log"))
    try await pool.run { try ChildProcess.run(["espeak-ng", "-w", path, text], output: log) }
    return folder.bytes("spoken.wav")
  }

  /// The spoken recording in another format.
  func spoken(as name: String, _ arguments: [String]) async throws -> [UInt8] {
    try await make(name, ["-i", folder.path("spoken.wav")] + arguments)
  }

  /// Every kind of file that a client may send, with what it is. `spoken.wav` has to be there.
  static let kinds: [(name: String, arguments: [String], format: AudioFormat, codec: String)] = [
    ("a.m4a", ["-c:a", "aac"], .m4a, "aac"), ("general.mp4", ["-c:a", "aac"], .m4a, "aac"),
    ("fragments.mp4", ["-c:a", "aac", "-movflags", "+frag_keyframe+empty_moov"], .m4a, "aac"),
    ("lossless.m4a", ["-c:a", "alac"], .m4a, "alac"), ("a.aac", ["-c:a", "aac"], .aac, "aac"),
    ("a.mp3", ["-c:a", "libmp3lame"], .mp3, "mp3"),
    ("bare.mp3", ["-c:a", "libmp3lame", "-id3v2_version", "0", "-write_xing", "0", "-ar", "44100"], .mp3, "mp3"),
    ("a.wav", [], .wav, "pcm_s16le"), ("float.wav", ["-c:a", "pcm_f32le", "-ac", "2"], .wav, "pcm_f32le"),
    ("a.webm", ["-c:a", "libopus"], .webm, "opus"), ("live.webm", ["-c:a", "libopus", "-live", "1"], .webm, "opus"),
    ("a.ogg", ["-c:a", "libopus"], .ogg, "opus"), ("vorbis.ogg", ["-c:a", "libvorbis"], .ogg, "vorbis"),
  ]
}

/// WAV files by hand.
enum HandmadeWAV {
  /// Samples of 16 bits, one channel.
  static func file(_ samples: [Int16], rate: Int = 16_000, claiming size: Int? = nil, before chunks: [UInt8] = []) -> [UInt8] {
    let data = samples.flatMap { little(Int($0), 2) }
    let format = Array("fmt ".utf8) + little(16, 4) + little(1, 2) + little(1, 2) + little(rate, 4) + little(rate * 2, 4)
    let header = format + little(2, 2) + little(16, 2)
    let body = Array("WAVE".utf8) + header + chunks + Array("data".utf8) + little(size ?? data.count, 4) + data
    return Array("RIFF".utf8) + little(body.count, 4) + body
  }

  /// The same samples as numbers with a point, which no more than the tools read.
  static func floats(_ samples: [Int16], rate: Int = 16_000) -> [UInt8] {
    let data = samples.flatMap { little(Int((Float($0) / 32_768).bitPattern), 4) }
    return riff(
      chunk("fmt ", little(3, 2) + little(1, 2) + little(rate, 4) + little(rate * 4, 4) + little(4, 2) + little(32, 2))
        + chunk("data", data))
  }

  /// A number in so many bytes, the lowest first.
  static func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }

  /// A chunk with its padding.
  static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
    Array(name.utf8) + little(content.count, 4) + content + (content.count % 2 == 0 ? [] : [0])
  }

  /// A file of these chunks.
  static func riff(_ chunks: [UInt8]) -> [UInt8] {
    Array("RIFF".utf8) + little(chunks.count + 4, 4) + Array("WAVE".utf8) + chunks
  }

  /// A tone of that amplitude (1 is the loudest there is), 400 periods a second.
  static func tone(_ amplitude: Double, milliseconds: Int, offset: Int16 = 0) -> [Int16] {
    let period = (0..<40).map { index -> Double in
      // A triangle: it needs no sine, and its root mean square is its amplitude by the root of three.
      let phase = Double(index) / 40
      return phase < 0.5 ? 4 * phase - 1 : 3 - 4 * phase
    }
    return (0..<(milliseconds * 16)).map { Int16((period[$0 % 40] * amplitude * 32_767).rounded()) + offset }
  }
}
