internal import PostgreSQL
public import TestSupport

/// The texts of the statements that a release of a service sends, as they are committed: `Tests/Services/statements/NAME.sql`.
///
/// While a new release is rolled out, copies of the one before run on the schema that has been migrated for it: a migration must leave
/// the statements of the last release as they are. They are recorded at a release, by the walk over all methods.
public struct RecordedStatements: Sendable {
  private static let separator = "-- parameters:"

  /// In the order of the file.
  private let statements: [(types: [UInt32], text: String)]

  /// Those of them that can be prepared by name; BEGIN and its kin need nothing of a schema.
  init(_ statements: some Sequence<StatementMeter.Statement>) {
    self.statements = statements.filter { Self.isPreparable($0.text) }
      .sorted { ($0.text, $0.parameterTypes.count) < ($1.text, $1.parameterTypes.count) }
      .map { ($0.parameterTypes, $0.text) }
  }

  /// Those of the last release of a service.
  ///
  /// - Throws: ``TestSupport/TimedOut`` when the file is not there, or nothing is in it.
  public init(of service: String) throws {
    let file = Self.file(service)
    let text = try file.read()
    statements = try text.components(separatedBy: "\n" + Self.separator).dropFirst().map { part in
      let lines = part.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
      guard lines.count == 2 else { throw TimedOut("a statement in \(file): \(part)") }
      let types = lines[0].split(separator: " ").compactMap { UInt32($0) }
      var statement = lines[1]
      while let last = statement.last, last.isWhitespace { statement.removeLast() }
      guard statement.popLast() == ";" else { throw TimedOut("a semicolon in \(file) behind: \(statement)") }
      return (types, String(statement))
    }
    guard !statements.isEmpty else { throw TimedOut("statements in \(file)") }
  }

  private static func file(_ service: String) -> CheckoutFile { CheckoutFile("Tests/Services/statements/\(service).sql") }

  private static func isPreparable(_ text: String) -> Bool {
    let words = ["select", "insert", "update", "delete", "with", "values", "merge"]
    return text.split { $0.isWhitespace || $0 == "(" }.first.map { words.contains($0.lowercased()) } ?? false
  }

  /// How many there are.
  public var count: Int { statements.count }

  func write(as service: String) throws {
    let parts = statements.map { types, text in
      "\n\(Self.separator)\(types.map { " \($0)" }.joined())\n\(text);\n"
    }
    try Self.file(service).write(
      """
      -- What parley-\(service) of the last release sends to PostgreSQL, each statement behind the types of its parameters by number.
      -- PARLEY_RECORD_STATEMENTS=1 writes it; Tests/README.md says when.
      \(parts.joined())
      """)
  }

  /// Has the server prepare and plan each of them as the serving role, on the schema as it is.
  ///
  /// - Parameter url: The address of the database, with the service's own role.
  /// - Returns: Those that it refuses, and why.
  public func refused(at url: String, on database: TestDatabase) async throws -> [String] {
    let configuration = try DatabaseConfiguration(url)
    return try await Session.with(configuration, group: database.group, log: database.log) { session in
      let all = Array(Set(statements.flatMap(\.types))).map { Int64($0) }
      let rows: [(Int64, String)] = try await session.rows(
        "select oid::int8, format_type(oid, null) from pg_type where oid::int8 = any(\(all))")
      let names = Dictionary(rows, uniquingKeysWith: { first, _ in first })
      var refused: [String] = []
      for (number, statement) in statements.enumerated() {
        // The server finds out what nobody has said.
        let types = statement.types.map { names[Int64($0)] ?? "unknown" }
        let declared = types.isEmpty ? "" : "(\(types.joined(separator: ", ")))"
        let given = types.isEmpty ? "" : "(\(types.map { _ in "null" }.joined(separator: ", ")))"
        do {
          try await session.script("prepare recorded_\(number)\(declared) as \(statement.text)")
          // Planned only: what it may touch is looked at, and nothing is done.
          try await session.script("explain execute recorded_\(number)\(given)")
        } catch let error as DatabaseError { refused.append("\(error.message): \(statement.text)") }
      }
      return refused
    }
  }
}

extension String {
  /// The parts between occurrences of a text, without Foundation.
  fileprivate func components(separatedBy separator: String) -> [Substring] {
    var parts: [Substring] = []
    var start = startIndex
    for range in ranges(of: separator) {
      parts.append(self[start..<range.lowerBound])
      start = range.upperBound
    }
    return parts + [self[start...]]
  }
}
