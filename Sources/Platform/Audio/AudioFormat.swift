/// What kind of file a recording is, as its own bytes say.
public enum AudioFormat: String, Sendable, Hashable, CaseIterable {
  /// AAC (or Apple's lossless coding) in an MP4 file, as iOS records it.
  case m4a
  /// AAC in ADTS frames, without a file around it.
  case aac
  /// MPEG audio, layer III.
  case mp3
  /// RIFF/WAVE.
  case wav
  /// Opus or Vorbis in a WebM file, as browsers record it.
  case webm
  /// Opus, Vorbis, Speex or FLAC in an Ogg file.
  case ogg

  /// The type to store and send it with.
  public var mediaType: String {
    switch self {
    case .m4a: "audio/mp4"
    case .aac: "audio/aac"
    case .mp3: "audio/mpeg"
    case .wav: "audio/wav"
    case .webm: "audio/webm"
    case .ogg: "audio/ogg"
    }
  }

  /// The ending of a file's name, without the dot.
  public var fileExtension: String { rawValue }

  /// The types that senders give it.
  public var agreeingMediaTypes: Set<String> {
    switch self {
    case .m4a: ["audio/mp4", "audio/m4a", "audio/x-m4a"]
    case .aac: ["audio/aac", "audio/x-aac", "audio/aacp"]
    case .mp3: ["audio/mpeg", "audio/mp3"]
    case .wav: ["audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"]
    case .webm: ["audio/webm"]
    case .ogg: ["audio/ogg", "audio/opus"]
    }
  }

  /// Whether a type that a sender declared fits the file. Case and parameters do not count.
  public func agrees(with declared: String) -> Bool {
    let type = declared.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)[0]
    let trimmed = type.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
    return agreeingMediaTypes.contains(String(trimmed).lowercased())
  }

  /// What the bytes are; nil when they are none of these.
  ///
  /// Only the beginning is looked at. Whether the rest can be played, and whether there is a film in it, is for ``AudioProbe`` to say.
  public static func sniffed(from bytes: [UInt8]) -> AudioFormat? {
    var beginning = AudioBeginning()
    beginning.add(bytes)
    return beginning.format(ofSize: bytes.count)
  }
}
