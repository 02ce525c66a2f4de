import Audio
import Testing

@Suite("Audio: what a file is that comes in pieces") struct AudioBeginningTests {
  private static func format(_ bytes: [UInt8], inPiecesOf count: Int) -> AudioFormat? {
    var beginning = AudioBeginning()
    var rest = bytes[...]
    while !rest.isEmpty {
      beginning.add(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return beginning.format(ofSize: bytes.count)
  }

  /// An ID3 tag of so many bytes behind its ten.
  private static func tag(_ size: Int) -> [UInt8] {
    Array("ID3".utf8) + [4, 0, 0] + (0..<4).reversed().map { UInt8(size >> (7 * $0) & 0x7f) }
      + [UInt8](repeating: 0x20, count: size)
  }

  @Test("O-42: the same bytes are the same kind, however they are cut")
  func cuts() async throws {
    try await Studio.run { (studio) async throws in
      try await studio.speak()
      for kind in Studio.kinds {
        let bytes = try await studio.spoken(as: kind.name, kind.arguments)
        for count in [1, 7, 11, 4_096, 10_000, bytes.count] {
          #expect(Self.format(bytes, inPiecesOf: count) == kind.format, "\(kind.name) in pieces of \(count)")
        }
      }
    }
  }

  @Test(
    "O-42: a tag of any length is skipped, and what stands behind it decides",
    arguments: [0, 100, 4_086, 16_374, 16_384, 1_258_291])
  func tags(_ size: Int) async throws {
    try await Studio.run { (studio) async throws in
      try await studio.speak()
      let bare = try await studio.spoken(as: "bare.mp3", ["-c:a", "libmp3lame", "-id3v2_version", "0", "-write_xing", "0"])
      let file = Self.tag(size) + bare
      #expect(AudioFormat.sniffed(from: file) == .mp3)
      for count in [5_000, 1 << 20] { #expect(Self.format(file, inPiecesOf: count) == .mp3, "in pieces of \(count)") }
      // Its beginning alone, of a file of that size, is not refused yet.
      var beginning = AudioBeginning()
      beginning.add(Array(file.prefix(AudioBeginning.sufficient)))
      #expect(beginning.format(ofSize: file.count) == .mp3)
      let text = Self.tag(size) + Array("this is text behind a tag, and no recording".utf8)
      #expect(AudioFormat.sniffed(from: text) == nil && Self.format(text, inPiecesOf: 5_000) == nil)
      #expect(AudioFormat.sniffed(from: Self.tag(size)) == nil, "a tag alone is no recording")
    }
  }
}
