/// What the header of a WAV file says, read without any program.
public struct WAVFacts: Sendable, Hashable {
  /// How long it is, by the samples that are really there.
  public let duration: Duration
  /// How many channels it has.
  public let channels: Int
  /// How many samples a second it has, of each channel.
  public let sampleRate: Int
  /// How many bits a sample has.
  public let bitsPerSample: Int
  /// How it is coded: 1 for whole numbers, 3 for floating point, 0xFFFE for what a sub-format says.
  public let format: Int

  /// Reads a file; nil when it is no WAV file, has no `fmt ` before its `data`, or says what cannot be.
  ///
  /// A `data` that is longer than the file (a recorder that was stopped, a stream of unknown length) ends where the file does.
  public init?(_ bytes: [UInt8]) {
    func number(_ offset: Int, _ count: Int) -> Int {
      (0..<count).reduce(0) { $0 | Int(bytes[offset + $1]) << ($1 * 8) }
    }
    func has(_ text: String, at offset: Int) -> Bool { bytes[offset..<(offset + 4)].elementsEqual(text.utf8) }
    guard bytes.count >= 12, has("RIFF", at: 0), has("WAVE", at: 8) else { return nil }
    var position = 12
    var header: (format: Int, channels: Int, rate: Int, block: Int, bits: Int)?
    while position + 8 <= bytes.count {
      let size = number(position + 4, 4)
      let content = position + 8
      if has("fmt ", at: position) {
        guard header == nil, size >= 16, content + 16 <= bytes.count else { return nil }
        header = (
          number(content, 2), number(content + 2, 2), number(content + 4, 4), number(content + 12, 2), number(content + 14, 2)
        )
      } else if has("data", at: position) {
        guard let header, header.channels > 0, header.rate > 0, header.block > 0 else { return nil }
        let blocks = min(size, bytes.count - content) / header.block
        duration = .nanoseconds(Int64(Double(blocks) / Double(header.rate) * 1e9))
        (channels, sampleRate, bitsPerSample, format) = (header.channels, header.rate, header.bits, header.format)
        return
      }
      // Chunks begin at even offsets.
      position = content + size + size & 1
    }
    return nil
  }
}
