/// Collects lines of Swift with their indentation.
struct CodePrinter {
  private(set) var text = ""
  private var depth = 0

  /// Adds a line at the current indentation; an empty one stays empty.
  mutating func line(_ content: String = "") {
    if !content.isEmpty { text += String(repeating: "  ", count: depth) + content }
    text += "\n"
  }

  /// Adds `opening`, what `body` adds one level deeper, and `closing`.
  mutating func block(_ opening: String, closing: String = "}", _ body: (inout CodePrinter) -> Void) {
    line(opening)
    depth += 1
    body(&self)
    depth -= 1
    line(closing)
  }

  /// Adds documentation from a comment of the `.proto` file, or a sentence where the file has none.
  mutating func document(_ comment: String?, fallback: String) {
    for text in (comment ?? fallback).split(separator: "\n", omittingEmptySubsequences: false) {
      line(text.isEmpty ? "///" : "/// \(text)")
    }
  }
}
