public import JSON

/// One step of a catalogue.
public struct CatalogueStep: Sendable, Hashable {
  /// Its number, from 1.
  public let number: Int
  /// The part of the conversation: `FINAL_OATH`.
  public let phase: String
  /// How it is answered.
  public let type: StepType
  /// What the answer is kept as.
  public let fields: [String]
  /// What can be chosen.
  public let options: [String]
  /// How long a recording is, or something is held, at least; zero where neither is asked for.
  public let minimum: Duration
  /// What it is about, in a few words.
  public let topic: String
}

/// The steps of one version, in their order. Steps are data: a new version is another document, and answers to old ones stay valid.
public struct StepCatalogue: Sendable, Hashable {
  /// What is wrong with a document.
  public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    /// What it is.
    public let description: String
  }

  /// The version, from 1.
  public let version: Int
  /// The steps.
  public let steps: [CatalogueStep]
  private let byNumber: [Int: Int]

  /// The step of a number.
  public subscript(number: Int) -> CatalogueStep? { byNumber[number].map { steps[$0] } }

  /// The number of the step whose answer is kept as `field`.
  public func step(of field: String) -> Int? { steps.first { $0.fields.contains(field) }?.number }

  /// Every name that an answer is kept as, in the order of the steps.
  public var fields: [String] { steps.flatMap(\.fields) }

  /// Reads a document: `{"version": 1, "steps": [{"step": 1, "phase": …, "type": …, "fields": […], "options": […], "minimum_seconds":
  /// 10, "topic": …}, …]}`.
  ///
  /// - Throws: ``Fault``: steps are numbered from 1 without gaps, types are known, and no field occurs twice.
  public init(_ document: JSONValue) throws(Fault) {
    guard let object = document.object, let version = object["version"]?.int64, version > 0 else {
      throw Fault(description: "the catalogue has no version")
    }
    var steps: [CatalogueStep] = []
    for entry in object["steps"]?.array ?? [] { steps.append(try Self.step(entry, steps.count + 1)) }
    guard !steps.isEmpty else { throw Fault(description: "the catalogue has no steps") }
    let fields = steps.flatMap(\.fields)
    guard Set(fields).count == fields.count else { throw Fault(description: "a field belongs to two steps") }
    self.version = Int(version)
    self.steps = steps
    byNumber = Dictionary(uniqueKeysWithValues: steps.enumerated().map { ($1.number, $0) })
  }

  private static func step(_ entry: JSONValue, _ number: Int) throws(Fault) -> CatalogueStep {
    guard let object = entry.object, object["step"]?.int64 == Int64(number) else {
      throw Fault(description: "step \(number) is missing")
    }
    guard let type = object["type"]?.string.flatMap(StepType.init), let phase = object["phase"]?.string, !phase.isEmpty else {
      throw Fault(description: "step \(number) has no type or no phase")
    }
    func texts(_ name: String) -> [String] { (object[name]?.array ?? []).compactMap(\.string) }
    return CatalogueStep(
      number: number, phase: phase, type: type, fields: texts("fields"), options: texts("options"),
      minimum: .seconds(object["minimum_seconds"]?.int64 ?? 0), topic: object["topic"]?.string ?? "")
  }
}
