import AuthDomain
import EventLoop
import Foundation
import JOSE
import JSON
import MessagesCore
import Outbound
import PostgreSQL
import RPCClient
import Synchronization
import TestSandbox
import TestSupport

/// Recordings of a person, each another one, as an iPhone makes them: AAC in MPEG-4, mono, 44.1 kHz.
enum SpokenFiles {
  private static let made = Mutex<[Int: [UInt8]]>([:])

  /// The recording of a number, about `seconds` long. It is made once.
  static func m4a(_ number: Int, seconds: Int = 7) throws -> [UInt8] {
    let key = number * 1_000 + seconds
    if let known = made.withLock({ $0[key] }) { return known }
    let folder = try ScratchFolder()
    let words = (0..<(seconds * 2)).map { "answer \(number) word \($0)" }.joined(separator: ", ")
    try run(["espeak-ng", "-w", folder.path + "/a.wav", words])
    let bytes = try withExtendedLifetime(folder) {
      try made(
        "a.m4a",
        ["-i", folder.path + "/a.wav", "-t", "\(seconds)", "-ac", "1", "-ar", "44100", "-c:a", "aac", "-b:a", "48k"])
    }
    made.withLock { $0[key] = bytes }
    return bytes
  }

  /// The recording of a number in another kind of file, as `ffmpeg` makes it of its name's ending.
  static func other(_ number: Int, as ending: String) throws -> [UInt8] {
    let folder = try ScratchFolder()
    let original = try m4a(number)
    try Data(original).write(to: URL(fileURLWithPath: folder.path + "/a.m4a"))
    return try withExtendedLifetime(folder) { try made("b." + ending, ["-i", folder.path + "/a.m4a"]) }
  }

  /// A WAV file of exactly so many bytes, an even number: 16,000 samples a second of a square wave that comes and goes.
  static func tone(bytes count: Int) -> [UInt8] {
    var file = header(rate: 16_000, sampleBytes: 2, count: count - 44)
    let loud = (0..<8_000).flatMap { little($0 / 40 % 2 == 0 ? 8_000 : -8_000, 2) }
    let second = loud + [UInt8](repeating: 0, count: 16_000)
    file.reserveCapacity(count)
    while file.count < count { file += second.prefix(count - file.count) }
    return file
  }

  /// Silence of `seconds`.
  static func silence(seconds: Int = 7) throws -> [UInt8] {
    try made("s.m4a", ["-f", "lavfi", "-i", "anullsrc=r=44100:cl=mono", "-t", "\(seconds)", "-c:a", "aac"])
  }

  /// What ffmpeg makes of these arguments, as a file of that name.
  static func made(_ name: String, _ arguments: [String]) throws -> [UInt8] {
    let folder = try ScratchFolder()
    try run(["ffmpeg", "-nostdin", "-loglevel", "error", "-y"] + arguments + [folder.path + "/" + name])
    return [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + name)))
  }

  /// Somebody who is filmed while a tone sounds for a second, as `film.mp4` or `film.webm`.
  static func film(_ name: String) throws -> [UInt8] {
    let inputs = ["-f", "lavfi", "-i", "testsrc=duration=1:size=64x64:rate=5", "-f", "lavfi", "-i", "sine=duration=1"]
    return try made(
      name, inputs + (name.hasSuffix("webm") ? ["-c:v", "libvpx", "-c:a", "libopus"] : ["-c:v", "mpeg4", "-c:a", "aac"]))
  }

  /// A WAV file of that many seconds of silence, in a thousand bytes each.
  static func silentWAV(seconds: Int) -> [UInt8] {
    let count = seconds * 1_000
    return header(rate: 1_000, sampleBytes: 1, count: count) + [UInt8](repeating: 0x80, count: count)
  }

  /// The 44 bytes that a WAV file of one channel has before its `count` bytes of samples.
  private static func header(rate: Int, sampleBytes: Int, count: Int) -> [UInt8] {
    var header = Array("RIFF".utf8) + little(count + 36, 4) + Array("WAVEfmt ".utf8) + little(16, 4)
    header += little(1, 2) + little(1, 2) + little(rate, 4) + little(rate * sampleBytes, 4)
    header += little(sampleBytes, 2) + little(sampleBytes * 8, 2) + Array("data".utf8) + little(count, 4)
    return header
  }

  /// A number in so many bytes, the lowest first.
  private static func little(_ value: Int, _ bytes: Int) -> [UInt8] { (0..<bytes).map { UInt8(value >> (8 * $0) & 255) } }

  private static func run(_ command: [String]) throws {
    try ChildProcess.run(["/usr/bin/\(command[0])"] + command.dropFirst(), output: "/dev/null")
  }
}
