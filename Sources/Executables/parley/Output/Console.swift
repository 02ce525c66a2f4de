import Glibc
import JSON

/// What the command line prints: results on standard output, everything else on standard error.
enum Console {
  /// A line of the result.
  static func write(line: String) { write(line + "\n", to: STDOUT_FILENO) }

  /// A line about what went wrong or goes on.
  static func note(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

  /// Text on standard error as it is, for lines that are drawn anew.
  static func draw(_ text: String) { write(text, to: STDERR_FILENO) }

  /// A result as compact JSON.
  static func write(json: JSONValue) { write(line: String(decoding: json.encoded(), as: UTF8.self)) }

  /// Names and values in two columns.
  static func write(table rows: [(String, String)]) {
    let width = (rows.map(\.0.count).max() ?? 0) + 2
    for (name, value) in rows { write(line: name + String(repeating: " ", count: width - name.count) + value) }
  }

  /// Rows of cells under a heading, each column as wide as its widest cell.
  static func write(_ heading: [String], rows: [[String]]) {
    let lines = [heading] + rows
    let widths = heading.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    for line in lines {
      let cells = zip(line, widths).map { cell, width in cell + String(repeating: " ", count: width - cell.count) }
      write(line: String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed()))
    }
  }

  /// Whether people watch, and like colours.
  static var hasColours: Bool { isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nil }

  /// Unbuffered, so that whoever reads through a pipe sees each step when it is done.
  private static func write(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      // Whoever read the results has gone, and with them the reason to go on: as the signal would end the program.
      if count < 0 && errno == EPIPE && descriptor == STDOUT_FILENO { exit(128 + SIGPIPE) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}

/// Secrets as they may be shown.
enum Mask {
  /// The beginning of a token: enough to tell two apart, too little to use.
  static func token(_ token: String) -> String { "\(token.prefix(min(10, token.count / 4)))…" }
}
