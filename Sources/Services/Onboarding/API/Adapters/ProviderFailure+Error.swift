internal import OnboardingDomain
internal import OpenID

extension ProviderFailure {
  /// What a provider's error means to the pipeline.
  init(_ error: ProviderError) {
    self.init(
      error.code.description, isTemporary: !error.isPermanent, retryAfter: error.retryAfter,
      mayHaveTakenEffect: error.mayHaveTakenEffect, error.description)
  }
}
