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

  /// A step from its parts.
  public init(
    number: Int, phase: String, type: StepType, fields: [String] = [], options: [String] = [], minimum: Duration = .zero,
    topic: String = ""
  ) {
    self.number = number
    self.phase = phase
    self.type = type
    self.fields = fields
    self.options = options
    self.minimum = minimum
    self.topic = topic
  }
}

/// The steps of one version, in their order. Steps are data: a new version is another document, and answers to old ones stay valid.
public struct StepCatalogue: Sendable, Hashable {
  /// What is wrong with a catalogue.
  public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    /// What it is, behind where it is: `steps[3].type: …`.
    public let description: String

    /// A fault.
    ///
    /// - Parameters:
    ///   - reason: What it is.
    ///   - path: Where in the document it is; empty for all of it.
    public init(_ reason: String, at path: String = "") { description = path.isEmpty ? reason : "\(path): \(reason)" }
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

  /// A catalogue from its parts.
  ///
  /// - Throws: ``Fault``: versions count from 1, steps from 1 without gaps, each has a phase, and no field occurs twice.
  public init(version: Int, steps: [CatalogueStep]) throws(Fault) {
    guard version > 0 else { throw Fault("the catalogue has no version", at: "version") }
    guard !steps.isEmpty else { throw Fault("the catalogue has no steps", at: "steps") }
    for (index, step) in steps.enumerated() {
      guard step.number == index + 1 else { throw Fault("step \(index + 1) is missing", at: "steps[\(index)].step") }
      guard !step.phase.isEmpty else { throw Fault("step \(step.number) has no phase", at: "steps[\(index)].phase") }
    }
    var fields: Set<String> = []
    for (index, step) in steps.enumerated() {
      for field in step.fields where !fields.insert(field).inserted {
        throw Fault("\(field) belongs to two steps", at: "steps[\(index)].fields")
      }
    }
    self.version = version
    self.steps = steps
    byNumber = Dictionary(uniqueKeysWithValues: steps.enumerated().map { ($1.number, $0) })
  }
}
