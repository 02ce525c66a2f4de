internal import Audio
internal import OnboardingDomain

/// Recordings looked at by ffmpeg, on this machine.
struct LocalInspection: RecordingInspecting {
  let gate: SilenceGate

  func inspect(_ sample: SpokenSample) async throws(ProviderFailure) -> RecordingFacts {
    guard let format = AudioFormat.sniffed(from: sample.bytes) else {
      throw ProviderFailure("audio_unknown_format", isTemporary: false)
    }
    let report: SilenceReport
    do throws(AudioError) { report = try await gate.judge(sample.bytes, as: format) } catch {
      throw ProviderFailure(
        error.code == .cancelled ? "cancelled" : "audio_\(error.code)", isTemporary: !error.isPermanent, error.description)
    }
    let loudness: RecordingFacts.Loudness =
      switch report.verdict {
      case .silent: .silent
      case .tooShort: .tooShort
      case .speechPossible: .speechPossible
      }
    return RecordingFacts(duration: report.duration, loudness: loudness)
  }
}
