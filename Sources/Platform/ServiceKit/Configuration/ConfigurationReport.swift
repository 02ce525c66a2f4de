internal import JSON
internal import RPC

/// What `config check` prints: the effective settings, what is wrong with them, and what they open.
struct ConfigurationReport {
  let program: String
  let settings: Settings?
  let problems: [ConfigurationError.Problem]
  let findings: [ConfigurationFinding]
  /// The methods that anyone may call.
  let publicMethods: [String]

  var isValid: Bool { problems.isEmpty && !findings.contains { $0.severity == .error } }

  /// A table for people.
  var text: String {
    var lines: [String] = []
    if let settings {
      let rows = settings.entries.map {
        [$0.key.name, $0.variable, $0.shown.isEmpty ? "-" : $0.shown, $0.source, $0.key.expectation]
      }
      lines += Self.table([["KEY", "VARIABLE", "VALUE", "SOURCE", "ALLOWED"]] + rows)
      lines.append("")
    }
    if !publicMethods.isEmpty {
      lines.append("Open to anyone (PUBLIC):")
      lines += publicMethods.map { "  \($0)" }
      lines.append("")
    }
    lines += findings.filter { $0.severity == .warning }.map { "warning: \($0.key): \($0.message)" }
    lines += problems.map { "error: \($0)" }
    lines += findings.filter { $0.severity == .error }.map { "error: \($0.key): \($0.message)" }
    lines.append("\(program): the configuration is \(isValid ? "valid" : "not valid")")
    return lines.joined(separator: "\n") + "\n"
  }

  /// One JSON object for scripts.
  var json: [UInt8] {
    var writer = JSONWriter(isPretty: true)
    writer.beginObject()
    writer.name("valid")
    writer.bool(isValid)
    writer.list("settings", settings?.entries ?? []) { writer, entry in
      writer.pair("key", entry.key.name)
      writer.pair("variable", entry.variable)
      writer.pair("value", entry.shown)
      writer.pair("source", entry.source)
      writer.pair("allowed", entry.key.expectation)
      writer.pair("default", entry.key.isSecret ? "" : entry.key.defaultText ?? "")
      writer.pair("meaning", entry.key.documentation)
      writer.name("secret")
      writer.bool(entry.key.isSecret)
    }
    writer.name("publicMethods")
    writer.beginArray()
    for method in publicMethods { writer.string(method) }
    writer.endArray()
    writer.list("findings", findings) { writer, finding in
      writer.pair("severity", finding.severity.rawValue)
      writer.pair("key", finding.key)
      writer.pair("message", finding.message)
    }
    writer.list("problems", problems) { writer, problem in
      if let key = problem.key { writer.pair("key", key) }
      writer.pair("variable", problem.variable)
      if let source = problem.source { writer.pair("source", source) }
      writer.pair("message", problem.message)
    }
    writer.endObject()
    writer.endLine()
    return writer.bytes
  }

  private static func table(_ rows: [[String]]) -> [String] {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      zip(row, widths).map { cell, width in cell + String(repeating: " ", count: width - cell.count) }
        .joined(separator: "  ").trimmingBlanks
    }
  }
}

extension JSONWriter {
  fileprivate mutating func pair(_ key: String, _ value: String) {
    name(key)
    string(value)
  }

  fileprivate mutating func list<Element>(_ key: String, _ elements: [Element], _ body: (inout JSONWriter, Element) -> Void) {
    name(key)
    beginArray()
    for element in elements {
      beginObject()
      body(&self, element)
      endObject()
    }
    endArray()
  }
}
