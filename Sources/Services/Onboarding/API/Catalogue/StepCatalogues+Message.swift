internal import OnboardingDomain
internal import ParleyAPI
internal import WellKnown

extension StepCatalogues {
  /// A version as it is sent; 0 is the newest.
  func message(version: Int) throws(OnboardingRefusal) -> ListStepsResponse {
    guard let catalogue = catalogue(version) else { throw .noCatalogue }
    return .init(
      version: Int32(catalogue.version),
      steps: catalogue.steps.map { step in
        .init(
          number: Int32(step.number), phase: step.phase, type: step.type.rawValue, dbFields: step.fields, options: step.options,
          minimumDuration: step.minimum == .zero ? nil : .init(step.minimum), topic: step.topic)
      })
  }
}
