/// Names and texts for the few statements that cannot take parameters.
enum SQLName {
  /// Whether a name needs no quotes and is no surprise: lower-case letters, digits and `_`, 1 to 63 of them.
  static func isPlain(_ name: String) -> Bool {
    guard let first = name.utf8.first, (97...122).contains(first) || first == 95, name.utf8.count <= 63 else { return false }
    return name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 95 }
  }

  /// An identifier in double quotes.
  static func quoted(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }

  /// A text in single quotes; as an escape string where it holds a backslash.
  static func literal(_ text: String) -> String {
    let doubled = text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
    guard doubled.contains("\\") else { return "'\(doubled)'" }
    return "E'" + doubled.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\\\") + "'"
  }
}
