import Audio
import EventLoop
import Foundation
import Subprocess
import TestSandbox
import Testing

@Suite("Audio: what the tools themselves do wrong") struct ToolFailureTests {
  /// A program in the studio that is this script.
  private static func program(_ script: String, in studio: Studio) throws -> String {
    let path = studio.path("tool")
    try script.write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    return path
  }

  /// What is said against a good recording, by both ways of looking at it.
  private static func failures(_ studio: Studio, _ program: String, _ format: AudioFormat) async throws -> [AudioError?] {
    var tools = AudioTools(ffprobe: program, ffmpeg: program, on: studio.pool)
    tools.processLimits = studio.tools.processLimits
    let (bytes, used) = (HandmadeWAV.floats(HandmadeWAV.tone(0.5, milliseconds: 1000)), tools)
    var failures: [AudioError?] = [nil, nil]
    do { try await AudioProbe(used).check(bytes, as: format) } catch { failures[0] = error }
    do { _ = try await SilenceGate(used).judge(bytes, as: format) } catch { failures[1] = error }
    return failures
  }

  private static let python = "#!/usr/bin/python3 -IS\nimport ctypes, os, signal, threading\n"
  private static func dying(by signal: String) -> String {
    python + "signal.pthread_kill(threading.get_ident(), signal.\(signal))\n"
  }

  @Test(
    "A tool that cannot start, crashes, is killed, or reads nothing at all says nothing of the file",
    arguments: [
      "#!/bin/sh\nexit 127\n", "#!/bin/sh\nexit 126\n", "#!/bin/sh\nexit 1\n", "#!/bin/sh\nexit 0\n",
      "#!/bin/sh\necho nonsense\n",
      ToolFailureTests.python + "os.abort()\n", ToolFailureTests.python + "ctypes.string_at(0)\n",
      ToolFailureTests.dying(by: "SIGKILL"), ToolFailureTests.dying(by: "SIGBUS"),
      ToolFailureTests.dying(by: "SIGTERM"),
    ])
  func broken(_ script: String) async throws {
    try await Studio.run { (studio) async throws in
      // Its words would be samples to ffmpeg's reader.
      let isSound = script.contains("nonsense")
      for error in try await Self.failures(studio, Self.program(script, in: studio), .wav).prefix(isSound ? 1 : 2) {
        #expect(error?.code == .toolFailed && error?.isPermanent == false, "\(error as Any)")
      }
    }
  }

  @Test("A tool that reads a good recording, and not this file, says that the file cannot be read")
  func working() async throws {
    try await Studio.run { (studio) async throws in
      for (name, format) in [("ffprobe", 0), ("ffmpeg", 1)] {
        let script = "#!/bin/sh\ncase \"$*\" in *' mov '*) exit 1;; esac\nexec /usr/bin/\(name) \"$@\"\n"
        let error = try await Self.failures(studio, Self.program(script, in: studio), .m4a)[format]
        #expect(error?.code == .unreadable && error?.isPermanent == true, "\(name): \(error as Any)")
      }
    }
  }

  @Test("A file that takes more CPU time than any of its size is too expensive, whatever the tool makes of the signal")
  func expensive() async throws {
    try await Studio.run { (studio) async throws in
      let script = Self.python + "signal.signal(signal.SIGXCPU, lambda *_: os._exit(255))\nwhile True: pass\n"
      var tools = AudioTools(ffprobe: try Self.program(script, in: studio), on: studio.pool)
      tools.processLimits = studio.tools.processLimits
      tools.processLimits.cpuSeconds = 1
      let used = tools
      let error = await #expect(throws: AudioError.self) {
        try await AudioProbe(used).check(HandmadeWAV.floats([1, 2, 3]), as: .wav)
      }
      #expect(error?.code == .tooExpensive)
    }
  }
}
