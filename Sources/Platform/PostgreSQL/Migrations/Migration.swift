internal import COpenSSL

/// One numbered step of a schema.
///
/// Migrations live in the binary: a service declares them in Swift files, one each, the SQL as a raw multi-line literal, so
/// that a binary always carries what it needs. Once released, a migration never changes: its checksum is stored.
public struct Migration: Sendable, Hashable {
  /// The number: steps are applied in its order, from 1, without gaps.
  public let version: Int
  /// A short name for lists (`create_session`).
  public let name: String
  /// The statements. They run in one transaction, which they must not end.
  public let sql: String

  /// A step from its parts.
  public init(_ version: Int, _ name: String, _ sql: String) {
    self.version = version
    self.name = name
    self.sql = sql
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
  public let appliedAt: Timestamp?
}
