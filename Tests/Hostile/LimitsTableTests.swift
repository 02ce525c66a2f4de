import Foundation
import HTTP2
import RPCServer
import Testing

@Suite("The table of limits")
struct LimitsTableTests {
  private static let table = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Sources/Runtime/README.md")

  /// The names of a structure's stored properties.
  private static func properties(_ value: Any) -> Set<String> { Set(Mirror(reflecting: value).children.compactMap(\.label)) }

  /// The properties that the table names for a type: `` `Type.first`, `.second` ``.
  private static func named(_ type: String) throws -> Set<String> {
    var names: Set<String> = []
    for line in try String(contentsOf: table, encoding: .utf8).split(separator: "\n") where line.hasPrefix("|") {
      let cells = line.split(separator: "|")
      guard cells.count == 4, cells[2].contains("`\(type).") else { continue }
      for match in cells[2].matches(of: /`[A-Za-z0-9]*\.([a-zA-Z0-9]+)`/) { names.insert(String(match.1)) }
    }
    return names
  }

  @Test("Each limit of HTTP/2 stands in the table, and the table names no other")
  func http2() throws { #expect(try Self.named("HTTP2Limits") == Self.properties(HTTP2Limits())) }

  @Test("Each limit of the server stands in the table, and the table names no other")
  func server() throws {
    let properties = Self.properties(RPCServerConfiguration())
    #expect(try Self.named("RPCServerConfiguration") == properties.filter { $0.hasPrefix("maximum") || $0.hasPrefix("large") })
  }
}
