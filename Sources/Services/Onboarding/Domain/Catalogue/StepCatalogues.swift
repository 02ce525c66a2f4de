/// All versions of the catalogue. Kept answers carry the fields that they were given for, so a later version changes nothing of them:
/// a field means the same in every version.
public struct StepCatalogues: Sendable, Hashable {
  /// The versions, the oldest first.
  public let all: [StepCatalogue]
  /// The newest, which apps get that ask for none.
  public let newest: StepCatalogue

  /// Catalogues in any order.
  ///
  /// - Parameters:
  ///   - first: The first version.
  ///   - others: Those that came later.
  /// - Throws: ``StepCatalogue/Fault`` where a version occurs twice, or is before the first.
  public init(_ first: StepCatalogue, _ others: [StepCatalogue] = []) throws(StepCatalogue.Fault) {
    var all = [first]
    for catalogue in others.sorted(by: { $0.version < $1.version }) {
      guard catalogue.version > all[all.count - 1].version else {
        throw StepCatalogue.Fault("there is a version \(catalogue.version) already", at: "version")
      }
      all.append(catalogue)
    }
    self.all = all
    newest = all[all.count - 1]
  }

  /// A version; nil where there is none.
  ///
  /// - Parameter version: From 1; 0 is the newest.
  public func catalogue(_ version: Int) -> StepCatalogue? { version == 0 ? newest : all.first { $0.version == version } }

  /// Every name that an answer is kept as: those of the newest version in the order of its steps, then those that only older ones have.
  public var fields: [String] {
    var (known, fields): (Set<String>, [String]) = ([], [])
    for field in all.reversed().flatMap(\.fields) where known.insert(field).inserted { fields.append(field) }
    return fields
  }

  /// What an answer is about, by the newest version that has a step for its fields; nil where none has.
  ///
  /// - Parameter fields: What it is kept as.
  public func topic(of fields: [String]) -> String? {
    for catalogue in all.reversed() {
      for step in catalogue.steps where step.fields.contains(where: fields.contains) { return step.topic }
    }
    return nil
  }
}
