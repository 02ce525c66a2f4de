internal import COpenSSL
public import Values

/// One numbered step of a schema.
///
/// Migrations live in the binary: a service declares them in Swift files, one each, the SQL as a raw multi-line literal, so
/// that a binary always carries what it needs. Once released, a migration never changes: its checksum is stored.
public struct Migration: Sendable, Hashable {
  /// How a step is run.
  public enum Kind: Sendable, Hashable {
    /// All statements in one transaction, together with the row that records the step. A lock that is not to be had in time rolls it
    /// back and lets whoever waited behind it through; then it is tried again.
    case transaction
    /// One statement outside a transaction, for what PostgreSQL refuses inside one: CREATE or DROP INDEX CONCURRENTLY, which hold up no
    /// writer of a table that is in use. It may have been run before without being recorded, so that it says IF (NOT) EXISTS; an invalid
    /// index, which a build that failed leaves, is dropped first.
    case concurrent
  }

  /// The number: steps are applied in its order, from 1, without gaps.
  public let version: Int
  /// A short name for lists (`create_session`).
  public let name: String
  /// The statements. Those of a transaction must not end it; outside one there is only one.
  public let sql: String
  /// How it is run.
  public let kind: Kind

  /// A step from its parts.
  public init(_ version: Int, _ name: String, _ sql: String, _ kind: Kind = .transaction) {
    self.version = version
    self.name = name
    self.sql = sql
    self.kind = kind
  }

  /// Why the step cannot be run as its kind; nil where it can.
  var flaw: String? {
    guard kind == .concurrent else { return nil }
    let text = sql.lowercased()
    guard text.contains("concurrently"),
      text.contains("if not exists") || text.contains("if exists")
    else {
      return
        "migration \(version) (\(name)) runs outside a transaction: it says CONCURRENTLY and IF (NOT) EXISTS"
    }
    guard let end = text.lastIndex(where: { !$0.isWhitespace && $0 != ";" }),
      !text[...end].contains(";")
    else {
      return "migration \(version) (\(name)) runs outside a transaction: it is one statement"
    }
    return nil
  }

  /// SHA-256 of the statements, in hexadecimal.
  public var checksum: String {
    var digest = [UInt8](repeating: 0, count: 32)
    let text = Array(sql.utf8)
    SHA256(text, text.count, &digest)
    return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

/// Where one migration stands in a database.
public struct MigrationStatus: Sendable, Hashable {
  /// The step.
  public let migration: Migration
  /// When it was applied; nil: not yet.
  public let appliedAt: Instant?
}
