/// The samples of a WAV file of plain PCM, and where they are: what this process reads by itself, without a decoder.
///
/// It knows the one form that recorders write, and says nil of everything else: another coding, a number that contradicts another one, a
/// chunk that it does not know, a file that is cut off. What is nil here may still be a recording; a decoder in a process of its own says
/// so. Nothing is read outside the bytes, whatever they claim.
public struct WaveSound: Sendable, Hashable {
  /// How many channels there are, 1 to ``mostChannels``.
  public let channels: Int
  /// How many samples a second each has, as ``AudioProbe`` allows.
  public let sampleRate: Int
  /// How many bytes a sample of one channel has, 1 to 4: the first is unsigned, the others are signed, the lowest byte first.
  public let sampleBytes: Int
  /// Where the samples are among the bytes of the file: whole frames, and at least one.
  public let data: Range<Int>

  /// More channels are left to the decoder.
  public static let mostChannels = 8
  /// A file of more chunks is left to the decoder: there may be a million of eight bytes, and a loop looks for the samples.
  public static let mostChunks = 64
  /// The least and the most samples a second that a recording may have.
  static let sampleRates = 1_000...768_000

  /// How many moments there are, each with a sample of every channel.
  public var frames: Int { data.count / (channels * sampleBytes) }
  /// How long it is.
  public var duration: Duration { .microseconds(Int64(frames) * 1_000_000 / Int64(sampleRate)) }
  /// The coding, by the name that `ffprobe` has for it.
  public var codec: String { ["pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_s32le"][sampleBytes - 1] }

  /// Finds the samples of a file.
  ///
  /// - Parameter bytes: All of the file.
  /// - Returns: nil where it is anything but plain PCM, or contradicts itself.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    guard Self.has("RIFF", bytes, 0), Self.has("WAVE", bytes, 8), Self.number(bytes, 4, 4) == bytes.count - 8 else { return nil }
    var (format, data): (Format?, Range<Int>?) = (nil, nil)
    var (place, chunks) = (12, 0)
    while place < bytes.count {
      chunks += 1
      guard chunks <= Self.mostChunks, let size = Self.number(bytes, place + 4, 4), size <= bytes.count - place - 8 else {
        return nil
      }
      let content = place + 8..<place + 8 + size
      if Self.has("fmt ", bytes, place) {
        guard format == nil, data == nil, let found = Format(bytes, content) else { return nil }
        format = found
      } else if Self.has("data", bytes, place) {
        guard format != nil, data == nil else { return nil }
        data = content
      } else {
        // Some hold films, or other sound.
        guard Self.others.contains(where: { Self.has($0, bytes, place) }) else { return nil }
      }
      // The byte that makes a chunk even may be missing behind the last one.
      place = content.upperBound + size % 2
    }
    guard let format, let data, !data.isEmpty, data.count % format.frame == 0 else { return nil }
    (channels, sampleRate, sampleBytes, self.data) = (format.channels, format.rate, format.sampleBytes, data)
  }

  /// What stands beside the samples and is no sound: descriptions, marks, padding.
  private static let others: [StaticString] = [
    "LIST", "fact", "JUNK", "PAD ", "FLLR", "bext", "iXML", "cue ", "smpl", "PEAK", "id3 ",
  ]

  /// What the chunk `fmt ` says.
  private struct Format {
    let channels: Int
    let rate: Int
    let sampleBytes: Int

    var frame: Int { channels * sampleBytes }

    init?(_ bytes: UnsafeRawBufferPointer, _ content: Range<Int>) {
      let start = content.lowerBound
      func number(_ place: Int, _ count: Int) -> Int? { WaveSound.number(bytes, start + place, count) }
      guard content.count >= 16, let kind = number(0, 2), let channels = number(2, 2), let rate = number(4, 4),
        let bits = number(14, 2), (1...WaveSound.mostChannels).contains(channels), WaveSound.sampleRates.contains(rate),
        bits % 8 == 0, (1...4).contains(bits / 8), number(12, 2) == channels * bits / 8,
        number(8, 4) == rate * channels * bits / 8
      else { return nil }
      switch (kind, content.count) {
      case (1, 16): break
      case (1, 18): guard number(16, 2) == 0 else { return nil }
      case (0xfffe, 40):
        // 22 bytes more: all bits count, any places of the channels, and the GUID of PCM.
        let identifier: [UInt8] = [1, 0, 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71]
        guard number(16, 2) == 22, number(18, 2) == bits, bytes[start + 24..<start + 40].elementsEqual(identifier) else {
          return nil
        }
      default: return nil
      }
      (self.channels, self.rate, sampleBytes) = (channels, rate, bits / 8)
    }
  }

  private static func has(_ name: StaticString, _ bytes: UnsafeRawBufferPointer, _ place: Int) -> Bool {
    guard place + 4 <= bytes.count else { return false }
    return name.withUTF8Buffer { bytes[place..<place + 4].elementsEqual($0) }
  }

  /// The number in so many bytes, the lowest first; nil where the file ends before.
  private static func number(_ bytes: UnsafeRawBufferPointer, _ place: Int, _ count: Int) -> Int? {
    guard place + count <= bytes.count else { return nil }
    return (0..<count).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
  }

  /// Hands on the samples in their order, as one channel of 16 bits: the mean of all channels.
  ///
  /// - Precondition: The bytes are those that it was found in.
  /// - Parameters:
  ///   - bytes: All of the file that it was found in.
  ///   - take: Gets each sample.
  public func forEachSample(in bytes: UnsafeRawBufferPointer, _ take: (Int16) -> Void) {
    let samples = UnsafeRawBufferPointer(rebasing: bytes[data])
    if channels == 1, sampleBytes == 2 {
      for place in stride(from: 0, to: samples.count, by: 2) {
        take(Int16(littleEndian: samples.loadUnaligned(fromByteOffset: place, as: Int16.self)))
      }
      return
    }
    var place = 0
    for _ in 0..<frames {
      var sum = 0
      for _ in 0..<channels {
        // The two highest bytes; the lower ones are below the loudness that anything here goes by.
        let high = Int(Int8(bitPattern: samples[place + sampleBytes - 1]))
        sum += sampleBytes == 1 ? (Int(samples[place]) - 128) << 8 : high << 8 | Int(samples[place + sampleBytes - 2])
        place += sampleBytes
      }
      take(Int16(sum / channels))
    }
  }
}
