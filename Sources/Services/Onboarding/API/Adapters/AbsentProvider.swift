internal import OnboardingDomain

/// Stands where a provider is not set up. What it is asked for waits until one is (``OnboardingStore/WaitingStore``).
struct AbsentProvider: Transcribing, IdentityExtracting, VoiceCloning {
  let model = ""

  private static let failure = ProviderFailure(ProviderFailure.notConfigured, isTemporary: false)

  func transcribe(_ sample: SpokenSample, key: String) async throws(ProviderFailure) -> String { throw Self.failure }
  func extract(_ task: ExtractionTask, key: String) async throws(ProviderFailure) -> [Conclusion] { throw Self.failure }
  func clone(
    _ name: String, of samples: [SpokenSample], key: String, by deadline: ContinuousClock.Instant
  ) async throws(ProviderFailure) -> MadeVoice {
    throw Self.failure
  }
  func voices(under key: String) async throws(ProviderFailure) -> [String] { throw Self.failure }
  func delete(_ voice: String) async throws(ProviderFailure) { throw Self.failure }
}
