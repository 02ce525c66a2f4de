internal import JSON

/// One part of the admin page: rows of one kind, as a table for people and as JSON for programs.
struct AdminTable: Sendable {
  /// A cell.
  enum Cell: Sendable, Hashable, ExpressibleByStringLiteral {
    case text(String)
    case number(Int)
    case truth(Bool)
    case none

    init(stringLiteral value: String) { self = .text(value) }

    var text: String {
      switch self {
      case .text(let text): text
      case .number(let number): "\(number)"
      case .truth(let truth): truth ? "yes" : "no"
      case .none: "-"
      }
    }
  }

  /// What it is called in the path, and over the table.
  let name: String
  /// Names as JSON's members have them.
  let columns: [String]
  var rows: [[Cell]] = []
  /// What a reader has to know: that something is left out.
  var note: String?

  /// An array of objects.
  func write(to writer: inout JSONWriter) {
    writer.beginArray()
    for row in rows {
      writer.beginObject()
      for (column, cell) in zip(columns, row) {
        writer.name(column)
        switch cell {
        case .text(let text): writer.string(text)
        case .number(let number): writer.int(number)
        case .truth(let truth): writer.bool(truth)
        case .none: writer.null()
        }
      }
      writer.endObject()
    }
    writer.endArray()
  }

  /// A heading and a table.
  var html: String {
    var text = "<h2><a href=\"/debug/\(name)\">\(Self.escaped(name))</a></h2>\n"
    if let note { text += "<p>\(Self.escaped(note))</p>\n" }
    text += "<table><tr>" + columns.map { "<th>\(Self.escaped($0))</th>" }.joined() + "</tr>\n"
    for row in rows { text += "<tr>" + row.map { "<td>\(Self.escaped($0.text))</td>" }.joined() + "</tr>\n" }
    return text + "</table>\n"
  }

  /// Text between tags: peers choose some of it.
  static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
