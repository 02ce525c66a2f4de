/// A reader of the text format 0.0.4 that accepts nothing else.
enum PrometheusText {
  struct Malformed: Error { let line: String, reason: String }

  static func check(_ text: String) throws {
    guard text.hasSuffix("\n") else { throw Malformed(line: "", reason: "no line feed at the end") }
    var types: [String: String] = [:]
    var current = ""
    var seen: Set<String> = []
    for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
      if line.hasPrefix("# HELP ") { continue }
      if line.hasPrefix("# TYPE ") {
        let parts = line.split(separator: " ").map(String.init)
        guard parts.count == 4, types[parts[2]] == nil, ["counter", "gauge", "histogram"].contains(parts[3]) else {
          throw Malformed(line: line, reason: "a second or odd TYPE")
        }
        (current, types[parts[2]]) = (parts[2], parts[3])
        continue
      }
      guard let match = line.wholeMatch(of: sample) else { throw Malformed(line: line, reason: "no sample") }
      let name = String(match.1)
      let belongs =
        types[current] == "histogram" ? ["_bucket", "_sum", "_count"].contains { name == current + $0 } : name == current
      guard belongs else { throw Malformed(line: line, reason: "outside its group") }
      guard seen.insert(name + (match.2.map(String.init) ?? "")).inserted else { throw Malformed(line: line, reason: "twice") }
    }
  }

  private static var sample: Regex<(Substring, Substring, Substring?)> {
    /([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\[\\"n])*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\[\\"n])*")*\})? (?:[-+]?[0-9.]+(?:e[-+]?[0-9]+)?|NaN|[-+]Inf)/
  }
}
