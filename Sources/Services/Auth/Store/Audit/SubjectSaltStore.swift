public import PostgreSQL
internal import Synchronization

/// What subjects are hashed with: made by the migration, the same for all copies, read once.
public final class SubjectSaltStore: Sendable {
  private let database: Database
  private let known = Mutex<[UInt8]?>(nil)

  /// The salt in `database`.
  public init(_ database: Database) { self.database = database }

  /// The salt, 32 bytes.
  ///
  /// - Throws: ``PostgreSQL/DatabaseError`` while it was not read yet and cannot be.
  public func salt() async throws(DatabaseError) -> [UInt8] {
    if let known = known.withLock({ $0 }) { return known }
    let found: [UInt8]? = try await database.reads.row("select salt from auth.subject_salt")
    guard let found else { throw DatabaseError(.queryFailed, "the schema has no salt: it was not migrated") }
    known.withLock { $0 = found }
    return found
  }
}
