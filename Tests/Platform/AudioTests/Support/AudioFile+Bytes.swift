import Audio

extension AudioProbe {
  /// What a file of these bytes says of itself.
  func facts(of bytes: [UInt8], as format: AudioFormat) async throws(AudioError) -> AudioFacts {
    try await facts(of: try AudioFile(bytes, as: format))
  }

  /// Refuses a file of these bytes where it is no recording.
  func check(_ bytes: [UInt8], as format: AudioFormat) async throws(AudioError) {
    try await check(try AudioFile(bytes, as: format))
  }
}

extension SilenceGate {
  /// Judges a file of these bytes.
  func judge(_ bytes: [UInt8], as format: AudioFormat) async throws(AudioError) -> SilenceReport {
    try await judge(try AudioFile(bytes, as: format))
  }
}
