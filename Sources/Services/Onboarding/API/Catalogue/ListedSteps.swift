internal import OnboardingDomain
internal import ParleyAPI
internal import WellKnown

/// The versions of the catalogue as they are sent: made once, since they are the same for everybody.
struct ListedSteps: Sendable {
  private let versions: [Int: ListStepsResponse]
  private let newest: Int

  init(_ catalogues: StepCatalogues) {
    versions = Dictionary(uniqueKeysWithValues: catalogues.all.map { ($0.version, ListStepsResponse($0)) })
    newest = catalogues.newest.version
  }

  /// A version as it is sent; 0 is the newest.
  func message(version: Int) throws(OnboardingRefusal) -> ListStepsResponse {
    guard let message = versions[version == 0 ? newest : version] else { throw .noCatalogue }
    return message
  }
}

extension ListStepsResponse {
  fileprivate init(_ catalogue: StepCatalogue) {
    self.init(
      version: Int32(catalogue.version),
      steps: catalogue.steps.map { step in
        .init(
          number: Int32(step.number), phase: step.phase, type: step.type.rawValue, dbFields: step.fields, options: step.options,
          minimumDuration: step.minimum == .zero ? nil : .init(step.minimum), topic: step.topic)
      })
  }
}
