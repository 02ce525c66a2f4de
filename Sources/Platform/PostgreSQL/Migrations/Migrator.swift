public import EventLoop
public import Logging
internal import Values

/// Brings the schema of one service to the version that its binary knows.
///
/// Each step runs in a transaction of its own, together with the row that records it, under an advisory lock, so that several
/// copies may start at once; or outside one, where its kind says so. A step that needs a lock which somebody holds would hold up
/// everybody who comes after it: it waits for at most ``lockTimeout``, lets them pass, and tries again. It refuses to touch a database that is ahead of the binary, or whose steps were not the same.
public struct Migrator: Sendable {
  /// The schema of the service; its record is `<schema>.schema_migration`.
  public let schema: String
  /// All steps, in order.
  public let migrations: [Migration]

  /// How long a step of a transaction waits for a lock before it makes room for others.
  public var lockTimeout: Duration = .seconds(2)
  /// How often such a step is tried, with a growing pause of at most ``longestPause`` between.
  public var attempts = 30
  /// The longest pause between two attempts.
  public var longestPause: Duration = .seconds(5)

  /// A migrator for a schema that exists and that the role may create tables in.
  ///
  /// - Throws: ``DatabaseError`` with `misuse` when the numbers are not 1, 2, 3 … or the schema's name is none.
  public init(schema: String, migrations: [Migration]) throws(DatabaseError) {
    guard SQLName.isPlain(schema) else { throw DatabaseError(.misuse, "a schema's name is lower-case letters, digits and _") }
    guard migrations.map(\.version) == Array(1..<migrations.count + 1) else {
      throw DatabaseError(.misuse, "migrations are numbered 1, 2, 3 … in order")
    }
    if let flaw = migrations.lazy.compactMap(\.flaw).first { throw DatabaseError(.misuse, flaw) }
    self.schema = schema
    self.migrations = migrations
  }

  /// Applies what is missing.
  ///
  /// - Returns: The steps applied now.
  /// - Throws: ``DatabaseError`` with `migrationRefused` when the database is ahead or was migrated otherwise; or what a step
  ///   failed with: that step is rolled back, those before it stay.
  @discardableResult
  public func migrate(
    _ configuration: DatabaseConfiguration, group: EventLoopGroup, log: Logger
  ) async throws -> [Migration] {
    try await Session.with(configuration, group: group, log: log) { session in
      try await prepare(session)
      // Held until the session ends, whatever happens to it.
      _ = try await session.run("select pg_advisory_lock(hashtext('parley.migrations'), hashtext(\(schema)))")
      try await createRecord(session)
      let applied = try await check(session)
      let missing = migrations.dropFirst(applied.count)
      for migration in missing { try await apply(migration, session, log) }
      return Array(missing)
    }
  }

  /// Says what is applied and what is missing, and changes nothing.
  ///
  /// - Throws: as ``migrate(_:group:log:)``.
  public func status(
    _ configuration: DatabaseConfiguration, group: EventLoopGroup, log: Logger
  ) async throws -> [MigrationStatus] {
    try await Session.with(configuration, group: group, log: log) { session in
      try await prepare(session)
      let table: Bool? = try await session.row("select to_regclass('schema_migration') is not null")
      let applied = table == true ? try await check(session) : []
      return migrations.enumerated().map { index, migration in
        MigrationStatus(migration: migration, appliedAt: index < applied.count ? applied[index] : nil)
      }
    }
  }

  /// Names in the migrator's own statements mean those of the schema and nothing else.
  private func prepare(_ session: Session) async throws(DatabaseError) {
    _ = try await session.run("select set_config('search_path', \(schema), false)")
  }

  /// What the serving role gets on new tables by default does not hold for the record: it may read it.
  private func createRecord(_ session: Session) async throws(DatabaseError) {
    try await session.script(
      """
      set client_min_messages = warning;
      create table if not exists \(schema).schema_migration (
        version integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null default now()
      );
      do $$
      declare grantee text;
      begin
        for grantee in
          select distinct acl.grantee::regrole::text from pg_class, aclexplode(relacl) as acl
          where pg_class.oid = '\(schema).schema_migration'::regclass and acl.grantee <> relowner and acl.grantee <> 0
        loop
          execute format('revoke insert, update, delete, truncate, references, trigger on \(schema).schema_migration from %s', grantee);
        end loop;
      end $$;
      """)
  }

  private func check(_ session: Session) async throws(DatabaseError) -> [Instant] {
    let applied: [(Int, String, String, Instant)] = try await session.rows(
      "select version, name, checksum, applied_at from schema_migration order by version")
    guard applied.count <= migrations.count else {
      throw DatabaseError(
        .migrationRefused, "the database is at migration \(applied.last?.0 ?? 0), this program knows \(migrations.count) only")
    }
    for (record, migration) in zip(applied, migrations) {
      guard record.0 == migration.version, record.2 == migration.checksum else {
        throw DatabaseError(
          .migrationRefused,
          "migration \(migration.version) (\(migration.name)) was applied with other contents (as \(record.0), \(record.1))")
      }
    }
    return applied.map(\.3)
  }

  private func apply(_ migration: Migration, _ session: Session, _ log: Logger) async throws {
    do {
      switch migration.kind {
      case .transaction: try await applyPatiently(migration, session, log)
      case .concurrent: try await applyConcurrently(migration, session)
      }
    } catch let error as DatabaseError {
      throw error.prefixed("migration \(migration.version) (\(migration.name)): ")
    }
    log.info(
      "applied a migration",
      metadata: ["version": "\(migration.version)", "name": "\(migration.name)"])
  }

  /// Tries a step until it gets its locks.
  private func applyPatiently(_ migration: Migration, _ session: Session, _ log: Logger)
    async throws
  {
    var backoff = Backoff(longest: longestPause)
    for attempt in 1... {
      do {
        return try await applyOnce(migration, session)
      } catch {
        guard error.sqlState == .lockNotAvailable && attempt < attempts else { throw error }
        let pause = backoff.next()
        log.info(
          "a migration waits for a lock that somebody holds",
          metadata: [
            "version": "\(migration.version)", "attempt": "\(attempt)", "pause": "\(pause)",
          ])
        try await Task.sleep(for: pause)
      }
    }
  }

  private func applyOnce(_ migration: Migration, _ session: Session) async throws(DatabaseError) {
    do {
      try await session.script("begin; set local lock_timeout = \(lockTimeout.wholeMilliseconds)")
      try await session.script(migration.sql)
      try await record(migration, session)
      try await session.script("commit")
    } catch {
      try? await session.script("rollback")
      throw error
    }
  }

  private func record(_ migration: Migration, _ session: Session) async throws(DatabaseError) {
    try await prepare(session)
    try await session.execute(
      """
      insert into schema_migration (version, name, checksum)
      values (\(Int32(migration.version)), \(migration.name), \(migration.checksum))
      """)
  }

  /// Waits for whoever was there before, as long as it takes: nobody waits for it.
  private func applyConcurrently(_ migration: Migration, _ session: Session)
    async throws(DatabaseError)
  {
    try await dropInvalidIndexes(session)
    do { try await session.script(migration.sql) } catch {
      try? await dropInvalidIndexes(session)
      throw error
    }
    try await record(migration, session)
  }

  private func dropInvalidIndexes(_ session: Session) async throws(DatabaseError) {
    let names: [String] = try await session.rows(
      """
      select relation.relname::text from pg_index as entry join pg_class as relation on relation.oid = entry.indexrelid
      where not entry.indisvalid and relation.relnamespace = to_regnamespace(\(schema))
      """)
    for name in names {
      try await session.script(
        "drop index concurrently if exists \(schema).\(SQLName.quoted(name))")
    }
  }
}
