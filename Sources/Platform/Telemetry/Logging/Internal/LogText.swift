/// Text as it may stand in a log: without secrets, and not without end.
enum LogText {
  static let maximumBytes = 8 << 10

  static func clean(_ text: String) -> String {
    let redacted = Redactor.redact(text)
    guard redacted.utf8.count > maximumBytes else { return redacted }
    return String(decoding: redacted.utf8.prefix(maximumBytes), as: UTF8.self) + "… (\(redacted.utf8.count) bytes)"
  }
}
