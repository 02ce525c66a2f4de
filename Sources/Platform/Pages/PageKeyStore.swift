public import PostgreSQL
internal import Synchronization

/// What a service's page tokens are sealed with: made by its migration, the same for all copies, read once.
public final class PageKeyStore: Sendable {
  private let schema: StaticString
  private let database: Database
  private let known = Mutex<PageTokens?>(nil)

  /// The key in a schema of `database`.
  ///
  /// - Parameters:
  ///   - schema: The service's schema, which has had ``PageKeyMigration/create(schema:role:)``.
  ///   - database: Where it is.
  public init(schema: StaticString, _ database: Database) {
    self.schema = schema
    self.database = database
  }

  /// What seals and opens tokens.
  ///
  /// - Throws: ``PostgreSQL/DatabaseError`` while the key was not read yet and cannot be.
  public func tokens() async throws(DatabaseError) -> PageTokens {
    if let known = known.withLock({ $0 }) { return known }
    let found: [UInt8]? = try await database.reads.row("select key from \(fragment: schema).page_key")
    guard let found else { throw DatabaseError(.queryFailed, "the schema has no key for pages: it was not migrated") }
    let tokens = PageTokens(key: found)
    known.withLock { $0 = tokens }
    return tokens
  }
}
