/// A random name for one failure, which the caller is told and the log has too.
enum IncidentID {
  static func make() -> String {
    let text = String(UInt64.random(in: .min ... .max), radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}
