/// What can be said of a person after an extraction, and whether that is anything.
public struct IdentityDraft: Sendable, Hashable {
  /// What is known, each field once, in the order of the catalogue.
  public var facts: [IdentityFact]

  /// The fields that are answers themselves: no model has a part in them.
  ///
  /// Two sliders are one answer: `7,9` is the first field's 7 and the second's 9.
  public init(_ answers: [StatedAnswer]) {
    facts = []
    var known: Set<String> = []
    for answer in answers {
      let text = answer.text.trimmed
      guard !text.isEmpty else { continue }
      let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0).trimmed }
      let isSplit = answer.fields.count > 1 && parts.count == answer.fields.count
      for (index, field) in answer.fields.enumerated() where !known.contains(field) {
        let value = isSplit ? parts[index] : text
        guard !value.isEmpty else { continue }
        known.insert(field)
        facts.append(IdentityFact(field, value, answer.isSpoken ? .transcript : .answer, step: answer.step))
      }
    }
  }

  /// Adds what a model concluded. A quote that the person did not say is dropped, and so is a step that has no answer.
  ///
  /// - Parameters:
  ///   - conclusions: What it concluded; what is no field, or has no value, counts for nothing.
  ///   - model: The model.
  ///   - answers: What was said.
  public mutating func add(_ conclusions: [Conclusion], by model: String, from answers: [StatedAnswer]) {
    let known = Set(facts.map(\.name))
    for name in IdentityCatalogue.concluded where !known.contains(name) {
      guard let conclusion = conclusions.first(where: { $0.name == name }) else { continue }
      let (value, quote) = (conclusion.value.storable.trimmed, conclusion.quote.storable.trimmed)
      guard !value.isEmpty else { continue }
      let named = answers.first { $0.step == conclusion.step }
      let origin = quote.isEmpty ? nil : ([named].compactMap { $0 } + answers).first { $0.text.contains(quote) }
      facts.append(
        IdentityFact(
          name, String(value.prefix(SubmissionLimits.fieldValue)), .model, step: origin?.step ?? named?.step ?? 0,
          quote: origin == nil ? "" : quote, model: model))
    }
  }

  /// The person in a line: up to six labelled snippets (4.7).
  public static func summary(of facts: [IdentityFact]) -> String {
    let snippets: [(label: String, field: String, length: Int)] = [
      ("Identity", "current_identity", 120), ("Goal", "identity_goal", 80), ("Struggle", "core_struggle", 60),
      ("Fear", "fear_version", 80), ("Excuse", "favorite_excuse", 60), ("Daily", "daily_non_negotiable", 50),
    ]
    let found = snippets.compactMap { snippet in
      facts.first { $0.name == snippet.field }.map { "\(snippet.label): \(String($0.value.prefix(snippet.length)))" }
    }
    return found.isEmpty ? "Identity extraction is pending." : found.joined(separator: " | ")
  }
}
