internal import OnboardingAPI
internal import ServiceKit

/// `parley-onboarding`.
@main struct ParleyOnboarding: ServiceCommand {
  static let service = OnboardingService.self
}
