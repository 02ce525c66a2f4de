public import PostgreSQL
internal import Synchronization

/// What refresh tokens are made with: made by the migration, the same for all copies, read once.
public final class RefreshPepperStore: Sendable {
  private let database: Database
  private let known = Mutex<[UInt8]?>(nil)

  /// The pepper in `database`.
  public init(_ database: Database) { self.database = database }

  /// The pepper, 32 bytes.
  ///
  /// - Throws: ``PostgreSQL/DatabaseError`` while it was not read yet and cannot be.
  public func pepper() async throws(DatabaseError) -> [UInt8] {
    if let known = known.withLock({ $0 }) { return known }
    let found: [UInt8]? = try await database.reads.row("select pepper from auth.refresh_pepper")
    guard let found else { throw DatabaseError(.queryFailed, "the schema has no pepper: it was not migrated") }
    known.withLock { $0 = found }
    return found
  }
}
