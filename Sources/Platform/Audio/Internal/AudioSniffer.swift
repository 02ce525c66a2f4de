/// Tells files apart by how they begin.
struct AudioSniffer {
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// What holds the recording; nil when nothing does that is known.
  var container: AudioFormat? {
    if has("ftyp", at: 4) { return isAudioBrand ? .m4a : nil }
    if has("RIFF", at: 0), has("WAVE", at: 8) { return .wav }
    if has("OggS", at: 0) { return isOggAudio ? .ogg : nil }
    return bytes.starts(with: [0x1a, 0x45, 0xdf, 0xa3]) && isWebM ? .webm : nil
  }

  /// What a recording is that nothing holds, by its first frame and the head of the second one.
  var frames: AudioFormat? {
    if let size = adtsFrame(at: 0) { return follows(size) { adtsFrame(at: $0) != nil } ? .aac : nil }
    if let size = mpegFrame(at: 0) { return follows(size) { mpegFrame(at: $0) != nil } ? .mp3 : nil }
    return nil
  }

  private func has(_ text: String, at offset: Int) -> Bool {
    bytes.count >= offset + text.utf8.count && bytes[offset...].starts(with: text.utf8)
  }

  /// A second frame stands where the first one ends, unless the file ends before.
  private func follows(_ offset: Int, _ isFrame: (Int) -> Bool) -> Bool { offset + 7 > bytes.count || isFrame(offset) }

  // MARK: Containers

  /// ISO 14496-12, 4.3. Android and ffmpeg write general brands for sound alone: whether there is a film is for ``AudioProbe`` to say.
  private var isAudioBrand: Bool {
    guard bytes.count >= 12 else { return false }
    let brand = String(decoding: bytes[8..<12], as: UTF8.self)
    return ["M4A ", "M4B ", "M4P ", "F4A ", "isom", "iso2", "iso4", "iso5", "iso6", "mp41", "mp42", "dash", "3gp4", "3gp5"]
      .contains(brand)
  }

  /// The first page's packet names the coding (RFC 5334).
  private var isOggAudio: Bool {
    guard bytes.count > 27 else { return false }
    let packet = 27 + Int(bytes[26])
    return ["OpusHead", "\u{1}vorbis", "Speex   ", "\u{7f}FLAC"].contains { has($0, at: packet) }
  }

  /// EBML: the element 0x4282 of the header says which kind of document it is.
  private var isWebM: Bool {
    let header = bytes.prefix(128)
    for index in header.indices.dropLast(6) where header[index] == 0x42 && header[index + 1] == 0x82 {
      return header[index + 2] == 0x84 && has("webm", at: index + 3)
    }
    return false
  }

  // MARK: Frames

  /// Where an ID3 tag ends; 0 without one. Its size has seven bits to a byte.
  var afterTag: Int {
    guard has("ID3", at: 0), bytes.count >= 10, bytes[6..<10].allSatisfy({ $0 < 0x80 }) else { return 0 }
    let size = bytes[6..<10].reduce(0) { $0 << 7 | Int($1) }
    return 10 + size + (bytes[5] & 0x10 == 0 ? 0 : 10)
  }

  /// The size of the ADTS frame at an offset (ISO 14496-3, 1.A.2.2).
  private func adtsFrame(at offset: Int) -> Int? {
    guard offset + 7 <= bytes.count, bytes[offset] == 0xff, bytes[offset + 1] & 0xf6 == 0xf0,
      bytes[offset + 2] >> 2 & 0xf < 13
    else { return nil }
    let size = Int(bytes[offset + 3] & 3) << 11 | Int(bytes[offset + 4]) << 3 | Int(bytes[offset + 5]) >> 5
    return size > 7 ? size : nil
  }

  /// The size of the layer III frame at an offset (ISO 11172-3, 2.4.2.3; ISO 13818-3 for the lower rates).
  private func mpegFrame(at offset: Int) -> Int? {
    guard offset + 4 <= bytes.count, bytes[offset] == 0xff, bytes[offset + 1] & 0xe0 == 0xe0 else { return nil }
    let (version, layer) = (bytes[offset + 1] >> 3 & 3, bytes[offset + 1] >> 1 & 3)
    let (rateIndex, sampleIndex) = (Int(bytes[offset + 2] >> 4), Int(bytes[offset + 2] >> 2 & 3))
    guard version != 1, layer == 1, (1...14).contains(rateIndex), sampleIndex < 3 else { return nil }
    let isFirst = version == 3
    let rates =
      isFirst
      ? [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
      : [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
    let sampleRate = [44_100, 48_000, 32_000][sampleIndex] / (isFirst ? 1 : version == 2 ? 2 : 4)
    let padding = Int(bytes[offset + 2] >> 1 & 1)
    return (isFirst ? 144 : 72) * rates[rateIndex - 1] * 1000 / sampleRate + padding
  }
}
