internal import OnboardingDomain
internal import ParleyAPI
internal import WellKnown

/// All versions of the catalogue.
struct StepCatalogues: Sendable {
  private let versions: [Int: StepCatalogue]
  /// The newest.
  let newest: StepCatalogue

  init() throws(StepCatalogue.Fault) {
    newest = try .first()
    versions = [newest.version: newest]
  }

  /// A version as it is sent; 0 is the newest.
  func message(version: Int) throws(OnboardingRefusal) -> ListStepsResponse {
    guard let catalogue = version == 0 ? newest : versions[version] else { throw .noCatalogue }
    return .init(
      version: Int32(catalogue.version),
      steps: catalogue.steps.map { step in
        .init(
          number: Int32(step.number), phase: step.phase, type: step.type.rawValue, dbFields: step.fields, options: step.options,
          minimumDuration: step.minimum == .zero ? nil : .init(step.minimum), topic: step.topic)
      })
  }
}
