internal import JSON
internal import OnboardingDomain

extension StepCatalogue {
  /// Reads a document: `{"version": 1, "steps": [{"step": 1, "phase": …, "type": …, "fields": […], "options": […], "minimum_seconds":
  /// 10, "topic": …}, …]}`.
  ///
  /// Strict, since people write it: a member that is not known is a mistake, and so is one of another type.
  ///
  /// - Throws: ``Fault`` with the path of what is wrong.
  init(_ document: JSONValue) throws(Fault) {
    let document = try DocumentObject(document, at: "", allowing: ["version", "steps"])
    let version = try document.integer("version", in: 1...1_000_000)
    guard let version else { throw Fault("it is missing", at: "version") }
    guard let entries = document.members["steps"]?.array else { throw Fault("an array of steps", at: "steps") }
    guard entries.count <= StepKey.range.upperBound else {
      throw Fault("at most \(StepKey.range.upperBound) steps", at: "steps")
    }
    var steps: [CatalogueStep] = []
    for (index, entry) in entries.enumerated() { steps.append(try CatalogueStep(entry, at: "steps[\(index)]")) }
    try self.init(version: version, steps: steps)
  }
}

extension CatalogueStep {
  private static let members = ["step", "phase", "type", "fields", "options", "minimum_seconds", "topic"]

  fileprivate init(_ entry: JSONValue, at path: String) throws(StepCatalogue.Fault) {
    let entry = try DocumentObject(entry, at: path, allowing: Self.members)
    guard let type = StepType(rawValue: try entry.text("type") ?? "") else {
      throw .init("one of \(StepType.allCases.map(\.rawValue).joined(separator: ", "))", at: "\(path).type")
    }
    let fields = try entry.texts("fields")
    guard fields.count <= SubmissionLimits.fields else {
      throw .init("at most \(SubmissionLimits.fields) fields", at: "\(path).fields")
    }
    for (index, field) in fields.enumerated() {
      guard Self.isFieldName(field) else {
        throw .init("1 to 64 characters of a-z, 0-9 and _, the first one a letter", at: "\(path).fields[\(index)]")
      }
      guard !IdentityCatalogue.concluded.contains(field) else {
        throw .init("\(field) is a field that is concluded", at: "\(path).fields[\(index)]")
      }
    }
    guard fields.isEmpty != type.takesAnswer else {
      let reason = type.takesAnswer ? "what the answer is kept as is missing" : "\(type.rawValue) has no answer"
      throw .init(reason, at: "\(path).fields")
    }
    let options = try entry.texts("options")
    guard options.isEmpty != (type == .choice) else {
      throw .init(type == .choice ? "what can be chosen is missing" : "only a choice has options", at: "\(path).options")
    }
    self.init(
      number: try entry.integer("step", in: StepKey.range) ?? 0, phase: try entry.text("phase") ?? "", type: type, fields: fields,
      options: options, minimum: .seconds(try entry.integer("minimum_seconds", in: 0...3_600) ?? 0),
      topic: try entry.text("topic") ?? "")
  }

  private static func isFieldName(_ name: String) -> Bool {
    guard let first = name.utf8.first, (0x61...0x7a).contains(first), name.utf8.count <= SubmissionLimits.fieldName else {
      return false
    }
    return name.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5f }
  }
}

/// An object of a document whose faults are told with their path.
private struct DocumentObject {
  let members: JSONObject
  private let path: String

  init(_ value: JSONValue, at path: String, allowing names: [String]) throws(StepCatalogue.Fault) {
    guard let members = value.object else { throw .init("an object", at: path) }
    self.members = members
    self.path = path
    for member in members where !names.contains(member.name) {
      throw .init("not known; there are \(names.joined(separator: ", "))", at: place(member.name))
    }
  }

  private func place(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

  func text(_ name: String) throws(StepCatalogue.Fault) -> String? {
    guard let value = members[name] else { return nil }
    guard let text = value.string, (1...1_000).contains(text.utf8.count) else {
      throw .init("a text of 1 to 1,000 bytes", at: place(name))
    }
    return text
  }

  func integer(_ name: String, in range: ClosedRange<Int>) throws(StepCatalogue.Fault) -> Int? {
    guard let value = members[name] else { return nil }
    guard let number = value.int64.map(Int.init), range.contains(number) else {
      throw .init("a whole number from \(range.lowerBound) to \(range.upperBound)", at: place(name))
    }
    return number
  }

  func texts(_ name: String) throws(StepCatalogue.Fault) -> [String] {
    guard let value = members[name] else { return [] }
    guard let values = value.array else { throw .init("an array of texts", at: place(name)) }
    var texts: [String] = []
    for (index, value) in values.enumerated() {
      guard let text = value.string, (1...1_000).contains(text.utf8.count) else {
        throw .init("a text of 1 to 1,000 bytes", at: "\(place(name))[\(index)]")
      }
      guard !texts.contains(text) else { throw .init("\(text) occurs twice", at: "\(place(name))[\(index)]") }
      texts.append(text)
    }
    return texts
  }
}
