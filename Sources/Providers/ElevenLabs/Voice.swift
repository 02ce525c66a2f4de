internal import JSON

/// A voice of the account.
public struct Voice: Sendable, Hashable {
  /// Its id.
  public let id: String
  /// What it is called.
  public let name: String
  /// `cloned`, `premade`, `generated` …, where it says.
  public let category: String?
  /// What it is for.
  public let description: String?
  /// Names and values to find it by.
  public let labels: [String: String]
  /// Whether somebody still has to prove that it is theirs before it speaks.
  public let requiresVerification: Bool

  /// Reads one; nil when it has no id. What else is missing is empty: fields come and go.
  init?(_ document: JSONValue) {
    guard let id = document["voice_id"]?.string, !id.isEmpty else { return nil }
    self.id = id
    name = document["name"]?.string ?? ""
    category = document["category"]?.string
    description = document["description"]?.string
    var labels: [String: String] = [:]
    for member in document["labels"]?.object ?? [:] { labels[member.name] = member.value.string }
    self.labels = labels
    let verification = document["voice_verification"]
    requiresVerification =
      verification?["requires_verification"]?.bool ?? false && !(verification?["is_verified"]?.bool ?? false)
  }
}
