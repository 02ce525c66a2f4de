import Testing

@testable import Audio

@Suite("Audio: the samples of several files in one output") struct SeparatedSoundsTests {
  private static func little(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }

  private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
    Array(name.utf8) + little(content.count) + content + (content.count % 2 == 1 ? [0] : [])
  }

  /// An AVI file of so many streams, as a decoder writes it to a pipe.
  private static func file(streams: Int, _ pieces: [UInt8]) -> [UInt8] {
    var facts = [UInt8](repeating: 0, count: 56)
    facts.replaceSubrange(24..<28, with: little(streams))
    let head = chunk("LIST", Array("hdrl".utf8) + chunk("avih", facts) + chunk("strh", Array("auds, and more".utf8)))
    return Array("RIFF".utf8) + little(-1) + Array("AVI ".utf8) + head + chunk("JUNK", [1, 2, 3])
      + chunk("LIST", Array("INFOabcd".utf8)) + Array("LIST".utf8) + little(-1) + Array("movi".utf8) + pieces
  }

  /// What is separated of a file that comes in pieces of so many bytes; nil where it is refused.
  private static func separated(_ file: [UInt8], by size: Int, streams: Int) -> [[UInt8]]? {
    var sounds = SeparatedSounds(Array(repeating: [UInt8](), count: streams))
    for start in stride(from: 0, to: file.count, by: size) {
      let isTaken = Array(file[start..<min(start + size, file.count)]).withUnsafeBytes { bytes in
        sounds.take(bytes) { result, samples in
          result += samples
          return true
        }
      }
      guard isTaken else { return nil }
    }
    return sounds.results
  }

  @Test("Each file has its own samples, wherever the output breaks", arguments: [1, 2, 3, 7, 61, 4_096])
  func separated(_ size: Int) {
    let pieces =
      Self.chunk("00wb", [1, 2, 3, 4]) + Self.chunk("11wb", [9, 8]) + Self.chunk("01wb", []) + Self.chunk("00wb", [5, 6, 7])
      + Self.chunk("01wb", [0x30, 0x30, 0x77, 0x62]) + Self.chunk("JUNK", [1]) + Self.chunk("11wb", [7, 6])
    var expected = Array(repeating: [UInt8](), count: 12)
    expected[0] = [1, 2, 3, 4, 5, 6, 7]
    expected[1] = [0x30, 0x30, 0x77, 0x62]
    expected[11] = [9, 8, 7, 6]
    #expect(Self.separated(Self.file(streams: 12, pieces), by: size, streams: 12) == expected)
  }

  @Test("Films, a stream more or less, and what is no such file end the run")
  func refused() {
    let good = Self.chunk("00wb", [1, 2])
    #expect(Self.separated(Self.file(streams: 2, good), by: 64, streams: 2) != nil)
    #expect(Self.separated(Self.file(streams: 3, good), by: 64, streams: 2) == nil, "a film, or a second sound")
    #expect(Self.separated(Self.file(streams: 2, good + Self.chunk("01dc", [1, 2])), by: 64, streams: 2) == nil, "a picture")
    for name in ["02wb", "a0wb", ":0wb", "/0wb", "RIFF", "ix00"] {
      #expect(Self.separated(Self.file(streams: 2, Self.chunk(name, [1, 2, 3, 4])), by: 64, streams: 2) == nil, "\(name)")
    }
    let early = Self.file(streams: 2, []).dropLast(12) + good
    #expect(Self.separated(Array(early), by: 64, streams: 2) == nil, "samples before their place")
    #expect(Self.separated(Array(repeating: 0, count: 100), by: 64, streams: 2) == nil)
    var bytes = Self.file(streams: 2, good)
    bytes.replaceSubrange(16..<20, with: Self.little(-1))
    #expect(Self.separated(bytes, by: 64, streams: 2) == nil, "a beginning without an end")
  }
}
