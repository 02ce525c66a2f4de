/// Whose part of an export or a deletion a step is.
public struct StepName: RawRepresentable, Sendable, Hashable, Comparable, CustomStringConvertible {
  /// As it is kept and shown: `service.notes`.
  public let rawValue: String

  /// A name as it is kept.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The part of a service.
  public static func service(_ name: String) -> StepName { StepName(rawValue: "service.\(name)") }

  /// What is to be done at a provider.
  public static func provider(_ name: String) -> StepName { StepName(rawValue: "provider.\(name)") }

  /// The part of this service.
  public static let own = StepName.service("auth")

  /// As it is shown.
  public var description: String { rawValue }

  /// By text.
  public static func < (left: StepName, right: StepName) -> Bool { left.rawValue < right.rawValue }
}

/// What is to be done for an export or a deletion, and in which order.
public struct AccountWorkPlan: Sendable, Hashable {
  /// The other services that keep something of people.
  public var services: [String]
  /// The providers at which something has to be withdrawn.
  public var providers: [String]

  /// A plan.
  public init(services: [String], providers: [String]) {
    self.services = services
    self.providers = providers
  }

  /// All steps.
  ///
  /// A deletion begins at the providers, since what is needed there is kept here, and ends here: until all others are done, this
  /// service has to know what is left to do.
  public func steps(of kind: AccountWork.Kind) -> [StepName] {
    switch kind {
    case .export: [.own] + services.map(StepName.service)
    case .deletion: providers.map(StepName.provider) + services.map(StepName.service) + [.own]
    }
  }

  /// What can be done now: every step that is not done, but this service's part of a deletion only when it is the last one.
  public func due(_ work: AccountWork) -> [StepName] {
    guard work.doneAt == nil else { return [] }
    let left = work.steps.filter { $0.doneAt == nil }.map(\.name)
    guard work.kind == .deletion, left != [.own] else { return left }
    return left.filter { $0 != .own }
  }

  /// Whether a service's word that it has deleted everything is contradicted by what it counts afterwards: the first kind of which
  /// something is there without a reason.
  public static func remainder(of counts: [AccountWork.Count]) -> String? {
    counts.first { $0.held > 0 && $0.whyHeld.isEmpty }?.kind
  }

  /// What a deletion's report says of a service: what it said it deleted, and what it counts afterwards.
  public static func merged(deleted: [AccountWork.Count], held: [AccountWork.Count]) -> [AccountWork.Count] {
    var counts = deleted.map { AccountWork.Count($0.kind, deleted: $0.deleted) }
    for count in held where count.held > 0 {
      if let index = counts.firstIndex(where: { $0.kind == count.kind }) {
        (counts[index].held, counts[index].whyHeld) = (count.held, count.whyHeld)
      } else {
        counts.append(AccountWork.Count(count.kind, held: count.held, whyHeld: count.whyHeld))
      }
    }
    return counts
  }
}
