internal import Audio
internal import JOSE
internal import OnboardingDomain

/// A recording that was looked into: its bytes are audio, and what it was called.
struct SpokenRecording: Sendable {
  let digest: [UInt8]
  let bytes: [UInt8]
  let format: AudioFormat

  /// Why bytes are no recording, in a word.
  struct Refused: Error, Sendable, Hashable {
    let word: String

    init(_ word: String) { self.word = word }
  }

  /// The recording of a data URL.
  init(dataURL text: String) throws(Refused) {
    let url: DataURL
    do throws(DataURLError) { url = try DataURL(parsing: text, maximumBytes: SubmissionLimits.recording) } catch {
      throw Refused("audio_\(error.code)")
    }
    try self.init(url.bytes, declared: url.mediaType)
  }

  /// The recording of bytes.
  ///
  /// - Parameters:
  ///   - bytes: All of them.
  ///   - declared: What it was called; empty where nobody said.
  init(_ bytes: [UInt8], declared: String) throws(Refused) {
    format = try Self.format(of: bytes, declared: declared)
    guard bytes.count <= SubmissionLimits.recording else { throw Refused("audio_too_large") }
    self.bytes = bytes
    digest = SHA256.digest(bytes)
  }

  /// What a recording is.
  static func format(of bytes: [UInt8], declared: String) throws(Refused) -> AudioFormat {
    guard !bytes.isEmpty else { throw Refused("audio_empty") }
    return try checked(AudioFormat.sniffed(from: bytes), declared: declared)
  }

  /// What was seen in the bytes, if it is a recording and the one that it was called.
  static func checked(_ seen: AudioFormat?, declared: String) throws(Refused) -> AudioFormat {
    guard let format = seen else { throw Refused("audio_unknown_format") }
    guard declared.isEmpty || format.agrees(with: declared) else { throw Refused("audio_type_mismatch") }
    return format
  }
}
