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
  public static func compare(_ tables: [TableDeclaration], with path: String, from file: String = #filePath) throws {
    let root = file.split(separator: "/").dropLast(5).joined(separator: "/")
    let path = "/\(root)/\(path)"
    let text = try read(path)
    guard let start = text.range(of: begin), let stop = text.range(of: end), start.upperBound <= stop.lowerBound else {
      throw TimedOut("marks of the tables in \(path)")
    }
    let wanted = TableDeclaration.markdown(tables)
    if String(text[start.upperBound..<stop.lowerBound]) == wanted { return }
    guard getenv("PARLEY_RENDER") != nil else {
      throw TimedOut("these tables in \(path) (PARLEY_RENDER=1 writes them):\n\(wanted)")
    }
    let whole = text[..<start.upperBound] + wanted + text[stop.lowerBound...]
    guard let output = fopen(path, "we") else { throw TimedOut("\(path), which cannot be written") }
    fputs(String(whole), output)
    fclose(output)
  }

  /// The settings that a text names: dotted words in backticks.
  public static func settings(in text: String) -> Set<String> {
    Set(
      text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map {
        String($0.element)
      })
  }

  private static func read(_ path: String) throws -> String {
    guard let input = fopen(path, "re") else { throw TimedOut("\(path), which cannot be read") }
    defer { fclose(input) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = fread(&chunk, 1, chunk.count, input)
      if count == 0 { break }
      bytes += chunk[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension String {
  /// Where a text is, without Foundation.
  fileprivate func range(of text: String) -> Range<Index>? { ranges(of: text).first }
}
