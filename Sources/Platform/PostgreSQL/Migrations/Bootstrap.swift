public import EventLoop
public import Logging

/// Creates what a service needs before it can migrate: its schema and its two roles.
///
/// `parley_<service>_owner` owns the schema and migrates; `parley_<service>` serves, with the rights to read and write rows
/// and no more. A migration takes away what the serving role must not do to a table (`revoke update, delete, truncate on
/// auth.audit_event from parley_auth`). It can be run again at any time.
public struct Bootstrap: Sendable {
  /// The service, which is also the name of its schema.
  public let service: String
  /// The password of the owner; nil leaves it as it is.
  public var ownerPassword: String?
  /// The password of the serving role; nil leaves it as it is.
  public var servingPassword: String?

  /// The role that migrates.
  public var ownerRole: String { "parley_\(service)_owner" }
  /// The role that serves.
  public var servingRole: String { "parley_\(service)" }

  /// The roles and schema of one service.
  ///
  /// - Throws: ``DatabaseError`` with `misuse` when the name is not made of lower-case letters, digits and `_`.
  public init(
    service: String, ownerPassword: String? = nil, servingPassword: String? = nil
  ) throws(DatabaseError) {
    guard SQLName.isPlain(service), service.utf8.count <= 48 else {
      throw DatabaseError(.misuse, "a service's name is lower-case letters, digits and _")
    }
    self.service = service
    self.ownerPassword = ownerPassword
    self.servingPassword = servingPassword
  }

  /// The statements, for a superuser to run by hand in `database`. They hold no password.
  public func sql(database: String) -> String {
    let owner = ownerRole
    let serving = servingRole
    let database = SQLName.quoted(database)
    return """
      do $$
      begin
        perform pg_advisory_xact_lock(hashtext('parley.bootstrap'));
        if not exists (select from pg_roles where rolname = '\(owner)') then
          create role \(owner) login;
        end if;
        if not exists (select from pg_roles where rolname = '\(serving)') then
          create role \(serving) login;
        end if;
      end $$;
      grant connect on database \(database) to \(owner), \(serving);
      set client_min_messages = warning;
      create schema if not exists \(service) authorization \(owner);
      revoke all on schema \(service) from public;
      grant usage on schema \(service) to \(serving);
      revoke create on schema public from public;
      alter default privileges for role \(owner) in schema \(service) grant select, insert, update, delete on tables to \(serving);
      alter default privileges for role \(owner) in schema \(service) grant usage, select on sequences to \(serving);
      alter default privileges for role \(owner) in schema \(service) grant execute on functions to \(serving);

      """
  }

  /// Runs the statements as the role of `configuration`, which must be a superuser, and sets the passwords.
  ///
  /// The server receives SCRAM verifiers, never the passwords. Roles belong to the whole server, and no lock that SQL can ask
  /// for does: who bootstraps the same service in another database meanwhile is met in the catalogue, and then all is run again.
  public func run(_ configuration: DatabaseConfiguration, group: EventLoopGroup, log: Logger) async throws {
    try await Session.with(configuration, group: group, log: log) { session in
      for attempt in 1... {
        do {
          return try await run(session, database: configuration.database)
        } catch let error as DatabaseError where error.isCatalogueRace && attempt < Self.attempts {
          log.info("somebody else sets up the same roles; once more", metadata: ["error": "\(error)"])
        }
      }
    }
  }

  /// Each failed attempt is another database's success, so this many may be set up at once.
  private static let attempts = 100

  private func run(_ session: Session, database: String) async throws {
    try await session.script(sql(database: database))
    for (role, password) in [(ownerRole, ownerPassword), (servingRole, servingPassword)] {
      guard let password else { continue }
      let verifier = try await session.verifier(of: password, role: role)
      try await session.script("alter role \(role) password \(SQLName.literal(verifier))")
    }
  }
}

extension DatabaseError {
  /// Whether somebody else has just created the same role, or changed the same row of a catalogue ("tuple concurrently
  /// updated", which has no code of its own).
  fileprivate var isCatalogueRace: Bool {
    switch sqlState {
    case .uniqueViolation, .duplicateObject: true
    case .internalError: message.contains("concurrently")
    default: false
    }
  }
}
