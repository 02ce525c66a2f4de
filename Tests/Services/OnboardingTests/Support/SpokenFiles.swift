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
    try run([
      "ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-i", folder.path + "/a.wav", "-t", "\(seconds)", "-ac", "1", "-ar",
      "44100",
      "-c:a", "aac", "-b:a", "48k", folder.path + "/a.m4a",
    ])
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.path + "/a.m4a")))
    made.withLock { $0[key] = bytes }
    return bytes
  }

  /// Silence of `seconds`.
  static func silence(seconds: Int = 7) throws -> [UInt8] {
    let folder = try ScratchFolder()
    try run([
      "ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-f", "lavfi", "-i", "anullsrc=r=44100:cl=mono", "-t", "\(seconds)",
      "-c:a", "aac",
      folder.path + "/s.m4a",
    ])
    return [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.path + "/s.m4a")))
  }

  private static func run(_ command: [String]) throws {
    try ChildProcess.run(["/usr/bin/\(command[0])"] + command.dropFirst(), output: "/dev/null")
  }
}
