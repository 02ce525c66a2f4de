internal import Glibc
public import PostgreSQL

/// Declarations of tables as they are shown to people.
public enum DeclaredTables {
  private static let (begin, end) = ("<!-- tables -->\n", "<!-- /tables -->\n")

  /// Compares the declarations with what a README shows between its marks; with `PARLEY_RENDER=1` writes it there.
  ///
  /// - Parameters:
  ///   - tables: The declarations.
  ///   - path: The file, from the top of the checkout.
  public static func compare(_ tables: [TableDeclaration], with path: String) throws {
    let file = CheckoutFile(path)
    let text = try file.read()
    guard let start = text.range(of: begin), let stop = text.range(of: end), start.upperBound <= stop.lowerBound else {
      throw TimedOut("marks of the tables in \(file)")
    }
    let wanted = TableDeclaration.markdown(tables)
    if String(text[start.upperBound..<stop.lowerBound]) == wanted { return }
    guard getenv("PARLEY_RENDER") != nil else {
      throw TimedOut("these tables in \(file) (PARLEY_RENDER=1 writes them):\n\(wanted)")
    }
    try file.write(String(text[..<start.upperBound] + wanted + text[stop.lowerBound...]))
  }

  /// The settings that a text names: dotted words in backticks.
  public static func settings(in text: String) -> Set<String> {
    Set(
      text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map {
        String($0.element)
      })
  }
}

extension String {
  /// Where a text is, without Foundation.
  fileprivate func range(of text: String) -> Range<Index>? { ranges(of: text).first }
}
