import Audio
import TestSandbox
import Testing

@Suite("Audio: frames that get a file around them") struct RepackingTests {
  /// What is in the first ADTS frames, without their heads of seven bytes (ISO 13818-7, 6.2.1).
  private static func payload(_ bytes: [UInt8], frames: Int) -> [UInt8] {
    var (payload, place): ([UInt8], Int) = ([], 0)
    for _ in 0..<frames {
      let size = Int(bytes[place + 3] & 3) << 11 | Int(bytes[place + 4]) << 3 | Int(bytes[place + 5]) >> 5
      payload += bytes[place + 7..<place + size]
      place += size
    }
    return payload
  }

  @Test("O-42: bare AAC frames become an M4A file with the same sound, which is read as one")
  func frames() async throws {
    try await Studio.run { (studio) async throws in
      try await studio.speak(String(repeating: "I promise to run every morning before work. ", count: 8))
      let bare = try await studio.spoken(as: "a.aac", ["-c:a", "aac"])
      let file = try AudioFile(bare, as: .aac)
      let packed = try await studio.tools.repacked(file)
      #expect(AudioFormat.sniffed(from: packed) == .m4a && packed.count < bare.count + 4_096)
      let (before, after) = (
        try await SilenceGate(studio.tools).judge(file), try await SilenceGate(studio.tools).judge(packed, as: .m4a)
      )
      #expect(before.duration > .seconds(10) && after.verdict == .speechPossible)
      #expect(abs((before.duration - after.duration) / .seconds(1)) < 0.1)
      // Nothing is coded anew: what was in the frames stands in the file as it was.
      let payload = Self.payload(bare, frames: 100)
      #expect(payload.count > 1_000 && packed.firstRange(of: payload) != nil)
    }
  }

  @Test("What is no AAC is refused as what cannot be read, and more than a file may have is too much")
  func refused() async throws {
    try await Studio.run { (studio) async throws in
      try await studio.speak()
      let text = try AudioFile(Array(String(repeating: "This is text. ", count: 1_000).utf8), as: .aac)
      let wrong = await #expect(throws: AudioError.self) { try await studio.tools.repacked(text) }
      #expect(wrong?.code == .unreadable)
      let bare = try await studio.spoken(as: "a.aac", ["-c:a", "aac"])
      var tools = studio.tools
      tools.limits.fileSize = bare.count - 1
      let small = tools
      let large = await #expect(throws: AudioError.self) { try await small.repacked(try AudioFile(bare, as: .aac)) }
      #expect(large?.code == .tooLarge)
    }
  }
}
