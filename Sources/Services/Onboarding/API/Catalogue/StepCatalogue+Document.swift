internal import JSON
internal import OnboardingDomain

extension StepCatalogue {
  /// Reads a document: `{"version": 1, "steps": [{"step": 1, "phase": …, "type": …, "fields": […], "options": […], "minimum_seconds":
  /// 10, "topic": …}, …]}`.
  ///
  /// - Throws: ``Fault``, also where a type is not known.
  init(_ document: JSONValue) throws(Fault) {
    var steps: [CatalogueStep] = []
    for entry in document.object?["steps"]?.array ?? [] { steps.append(try Self.step(entry, steps.count + 1)) }
    try self.init(version: Int(document.object?["version"]?.int64 ?? 0), steps: steps)
  }

  private static func step(_ entry: JSONValue, _ number: Int) throws(Fault) -> CatalogueStep {
    guard let object = entry.object, let type = object["type"]?.string.flatMap(StepType.init) else {
      throw Fault("step \(number) has no type that is known")
    }
    func texts(_ name: String) -> [String] { (object[name]?.array ?? []).compactMap(\.string) }
    return CatalogueStep(
      number: Int(object["step"]?.int64 ?? 0), phase: object["phase"]?.string ?? "", type: type, fields: texts("fields"),
      options: texts("options"), minimum: .seconds(object["minimum_seconds"]?.int64 ?? 0), topic: object["topic"]?.string ?? "")
  }
}
