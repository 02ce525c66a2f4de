internal import Audio
internal import OnboardingDomain
internal import ParleyAPI
internal import PostgreSQL
internal import Values
internal import WellKnown

/// Writes recordings down that are not kept.
struct TranscriptionDesk: Sendable {
  let inspector: any RecordingInspecting
  let transcriber: any Transcribing
  let journal: PipelineJournal
  let now: @Sendable () -> Instant

  func words(of audio: [UInt8], declared: String) async throws -> TranscribeResponse {
    guard audio.count <= SubmissionLimits.transcription else {
      throw OnboardingRefusal.badRecording(field: "audio", word: "audio_too_large")
    }
    let sample: SpokenSample
    do throws(SpokenRecording.Refused) {
      let format = try SpokenRecording.format(of: audio, declared: declared)
      sample = SpokenSample(filename: "recording.\(format.fileExtension)", mediaType: format.mediaType, bytes: audio)
    } catch {
      throw OnboardingRefusal.badRecording(field: "audio", word: error.word)
    }
    do throws(ProviderFailure) { return try await words(of: sample) } catch {
      try Task.checkCancellation()
      guard !RecordingDamage.words.contains(error.reason) else {
        throw OnboardingRefusal.badRecording(field: "audio", word: error.reason)
      }
      // Its server takes less than this service does.
      guard error.reason != "too_large" else { throw OnboardingRefusal.badRecording(field: "audio", word: "audio_too_large") }
      // What else keeps it from being written down, a key that was refused or an account without money, is no fault of its sender's.
      journal.failed("transcribe", error)
      throw OnboardingRefusal.providerUnavailable(
        word: error.reason, retryAfter: error.retryAfter ?? (error.isTemporary ? nil : .seconds(60)))
    }
  }

  private func words(of sample: SpokenSample) async throws(ProviderFailure) -> TranscribeResponse {
    let facts = try await inspector.inspect(sample)
    switch facts.loudness {
    case .silent: return .init(success: false, error: "no_speech", duration: .init(facts.duration))
    case .tooShort: return .init(success: false, error: "too_short", duration: .init(facts.duration))
    case .speechPossible: break
    }
    let words = try await transcriber.transcribe(
      try await inspector.sendable(sample), key: UUID.v7(at: now()).description)
    guard !words.isEmpty else { return .init(success: false, error: "no_speech", duration: .init(facts.duration)) }
    return .init(success: true, text: words, duration: .init(facts.duration))
  }
}
