internal import JSON
internal import MessagesCore
internal import OnboardingDomain

extension Message {
  /// The message as JSON that PostgreSQL takes.
  ///
  /// - Parameters:
  ///   - field: What the message is called in the refusal.
  ///   - limit: The most bytes that it may have.
  func storableJSON(field: String, atMost limit: Int = .max) throws -> String {
    let text = try jsonString()
    guard text.utf8.count <= limit else {
      throw OnboardingRefusal.invalid(field: field, "at most \(limit) bytes as JSON")
    }
    // Escaped it is in the text, if it is anywhere: only then is it worth a second look.
    guard text.contains("\\u0000"), !(try JSONParser.parse(Array(text.utf8)).isStorable) else { return text }
    throw OnboardingRefusal.invalid(field: field, "no text in it has a U+0000")
  }
}

extension JSONValue {
  /// Whether no text in it, and no name, has a U+0000.
  fileprivate var isStorable: Bool {
    switch self {
    case .string(let text): text.isStorable
    case .array(let values): values.allSatisfy(\.isStorable)
    case .object(let members): members.allSatisfy { $0.name.isStorable && $0.value.isStorable }
    case .null, .bool, .number: true
    }
  }
}
