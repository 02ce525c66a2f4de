import Glibc
import JOSE
import ParleyAPI
import TestSupport
import WellKnown

/// What people say, as phones record it.
enum Recordings {
  /// The steps that are answered by voice, fifteen of them.
  private static let spoken: [Int] = [2, 5, 7, 10, 14, 16, 22, 23, 26, 27, 31, 35, 41, 42, 44]
  /// Eighteen others.
  private static let written = [3, 4, 6, 8, 9, 11, 12, 13, 15, 17, 18, 19, 24, 34, 37, 39, 43, 45]

  /// All answers: 33, with fifteen recordings of 7 s in AAC.
  static func answers() throws -> [String: OnboardingAnswer] {
    var answers: [String: OnboardingAnswer] = [:]
    for step in written { answers["\(step)"] = answer(type(of: step), text(at: step), at: step) }
    for step in spoken {
      let file = "data:audio/m4a;base64," + Base64.encode(try m4a(step))
      answers["\(step)"] = answer("voice", file, at: step)
    }
    return answers
  }

  private static func answer(_ type: String, _ text: String, at step: Int) -> OnboardingAnswer {
    .init(
      type: type, value: .init(kind: .stringValue(text)),
      timestamp: "2026-01-05T10:\(step < 10 ? "0" : "")\(step):00.000Z", duration: type == "text" ? nil : 7)
  }

  private static func type(of step: Int) -> String {
    switch step {
    case 6, 12, 15, 24, 34, 39: "choice"
    case 11: "dual_sliders"
    case 37: "time_window_picker"
    case 43: "long_press_activate"
    default: "text"
    }
  }

  private static func text(at step: Int) -> String {
    switch step {
    case 11: "7,9"
    case 37: "20:30-21:00"
    case 43: "true"
    default: "the answer to step \(step)"
    }
  }

  /// One that nobody said before, of 200 KB: a second of a tone and one of silence, in turn, at 16 kHz.
  static func tone(_ number: Int) -> String {
    let count = 200_000 + 2 * number
    var file = Array("RIFF".utf8) + little(count + 36, 4) + Array("WAVEfmt ".utf8) + little(16, 4)
    file += little(1, 2) + little(1, 2) + little(16_000, 4) + little(32_000, 4) + little(2, 2) + little(16, 2)
    file += Array("data".utf8) + little(count, 4)
    let second = (0..<8_000).flatMap { little($0 / 40 % 2 == 0 ? 8_000 : -8_000, 2) } + [UInt8](repeating: 0, count: 16_000)
    let end = file.count + count
    while file.count < end { file += second.prefix(end - file.count) }
    return "data:audio/wav;base64," + Base64.encode(file)
  }

  private static func little(_ value: Int, _ bytes: Int) -> [UInt8] { (0..<bytes).map { UInt8(value >> (8 * $0) & 255) } }

  private static func m4a(_ number: Int) throws -> [UInt8] {
    let folder = try ScratchFolder()
    let (speech, recording) = (folder.path + "/a.wav", folder.path + "/a.m4a")
    let words = (0..<14).map { "answer \(number) word \($0)" }.joined(separator: ", ")
    try ChildProcess.run(["espeak-ng", "-w", speech, words], output: "/dev/null")
    try ChildProcess.run(
      [
        "ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-i", speech, "-t", "7", "-ac", "1", "-ar", "44100", "-c:a", "aac",
        "-b:a", "48k", recording,
      ], output: "/dev/null")
    return try withExtendedLifetime(folder) { try bytes(of: recording) }
  }

  private static func bytes(of file: String) throws -> [UInt8] {
    let descriptor = open(file, O_RDONLY)
    guard descriptor >= 0 else { throw TimedOut("\(file), which can be read") }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer.prefix(count) }
    return bytes
  }
}
