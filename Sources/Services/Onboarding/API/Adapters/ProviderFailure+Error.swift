internal import Audio
internal import Blobs
internal import OnboardingDomain
internal import OpenID

extension ProviderFailure {
  /// What a provider's error means to the pipeline.
  init(_ error: ProviderError) {
    self.init(
      error.code.description, isTemporary: !error.isPermanent, retryAfter: error.retryAfter,
      mayHaveTakenEffect: error.mayHaveTakenEffect, error.description)
  }

  /// What a recording that is not read means to the pipeline.
  init(_ error: AudioError) {
    self.init(
      error.code == .cancelled ? "cancelled" : "audio_\(error.code)", isTemporary: !error.isPermanent, error.description)
  }

  /// What an object store that does not take, give or delete what it should means to the pipeline.
  init(_ error: BlobError) {
    self.init("object_store_unavailable", isTemporary: true, retryAfter: error.retryAfter, "\(error.code)")
  }
}
