import Audio
import Testing

@Suite("Audio: WAV files without a program") struct WAVFactsTests {
  @Test("Length, channels and rate are those of the samples that are there")
  func facts() throws {
    let second = [Int16](repeating: 0, count: 16_000)
    let facts = try #require(WAVFacts(HandmadeWAV.file(second)))
    #expect(facts.duration == .seconds(1) && facts.channels == 1 && facts.sampleRate == 16_000 && facts.bitsPerSample == 16)
    // A recorder that was stopped, and a stream of unknown length.
    for claim in [32_001, 0x7fff_fff0, 0xffff_ffff] {
      #expect(WAVFacts(HandmadeWAV.file(second, claiming: claim))?.duration == .seconds(1))
    }
    #expect(WAVFacts(HandmadeWAV.file(second, claiming: 16_000))?.duration == .milliseconds(500))
    // A chunk of odd size before the samples is followed by a byte that is none of it.
    let list = Array("LIST".utf8) + [3, 0, 0, 0, 1, 2, 3, 0]
    #expect(WAVFacts(HandmadeWAV.file(second, before: list))?.duration == .seconds(1))
    #expect(WAVFacts(HandmadeWAV.file([]))?.duration == .zero)
  }

  @Test("What is cut off or impossible is no WAV file, and nothing crashes")
  func hostile() {
    let file = HandmadeWAV.file([1, 2, 3])
    for count in 0..<44 { #expect(WAVFacts(Array(file[..<count])) == nil, "\(count) bytes") }
    for offset in [22, 24, 32] {
      var broken = file
      broken.replaceSubrange(offset..<(offset + 2), with: [0, 0])
      #expect(WAVFacts(broken) == nil, "nothing at \(offset)")
    }
    let endless = Array("LIST".utf8) + [0xff, 0xff, 0xff, 0xff]
    #expect(WAVFacts(HandmadeWAV.file([1], before: endless)) == nil)
    #expect(WAVFacts(Array("RIFF....WAVEdata".utf8) + [4, 0, 0, 0, 1, 2, 3, 4]) == nil, "samples before their format")
  }
}
