/// Names as Prometheus allows them.
enum MetricName {
  /// A metric's name: `[a-zA-Z_:][a-zA-Z0-9_:]*`; whatever else becomes an underscore.
  static func sanitized(_ name: String) -> String { clean(name, allowsColon: true) }

  /// A label's name: `[a-zA-Z_][a-zA-Z0-9_]*`, and not two underscores first, which are Prometheus' own.
  static func label(_ name: String) -> String {
    let clean = clean(name, allowsColon: false)
    return clean.hasPrefix("__") ? "label" + clean : clean
  }

  static func counter(_ name: String) -> String { withSuffix("_total", sanitized(name)) }

  static func timer(_ name: String) -> String { withSuffix("_seconds", sanitized(name)) }

  /// A label's value between quotes.
  static func escapedValue(_ value: String) -> String {
    guard value.utf8.contains(where: { $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\n") }) else {
      return value
    }
    var escaped = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  static func escapedHelp(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  private static func withSuffix(_ suffix: String, _ name: String) -> String { name.hasSuffix(suffix) ? name : name + suffix }

  private static func clean(_ name: String, allowsColon: Bool) -> String {
    var clean = ""
    for scalar in name.unicodeScalars {
      switch scalar {
      case "a"..."z", "A"..."Z", "_": clean.unicodeScalars.append(scalar)
      case "0"..."9":
        if clean.isEmpty { clean = "_" }
        clean.unicodeScalars.append(scalar)
      case ":" where allowsColon: clean.unicodeScalars.append(scalar)
      default: clean += "_"
      }
    }
    return clean.isEmpty ? "_" : clean
  }
}
