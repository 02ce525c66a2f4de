internal import ArgumentParser
internal import EventLoop
internal import Logging
internal import PostgreSQL
internal import Telemetry

/// `parley-<service> migrate`.
struct MigrateCommand<S: Service>: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "migrate", abstract: "Brings the database to the version that this program knows.",
      discussion: """
        It logs in with \(Settings.prefix(S.name))DATABASE_OWNER_URL (or …_FILE), or \(Settings.prefix(S.name))DATABASE_URL without it. \
        Several copies may run at once: one does the work, the others wait.

        --bootstrap first creates the schema and the roles parley_\(S.name)_owner and parley_\(S.name), as the superuser of \
        \(Settings.prefix(S.name))DATABASE_ADMIN_URL, with the passwords of the other two addresses. \
        --print-sql prints what it would run, for a database administrator.
        """)
  }

  @Flag(help: "Creates schema and roles before migrating.") var bootstrap = false
  @Flag(help: "Says what would be applied, and changes nothing.") var dryRun = false
  @Flag(help: "Prints the statements of --bootstrap and does nothing else.") var printSQL = false
  @OptionGroup var flags: SettingFlags

  func validate() throws {
    if dryRun && bootstrap { throw ValidationError("--dry-run and --bootstrap exclude each other") }
  }

  func run() async throws {
    guard S.hasDatabase else { return Output.print("\(S.program) has no database\n") }
    let read: [any ConfigurationKeyDeclaration] = [
      StandardKeys.databaseURL, StandardKeys.databaseOwnerURL, StandardKeys.databasePool, StandardKeys.copies,
      StandardKeys.logLevel,
    ]
    let names = read.map(\.name)
    let settings = try Settings(S.self, flags, keys: S.keys.filter { names.contains($0.name) } + [StandardKeys.databaseAdminURL])
    let sink = LogSink()
    let log = Logger(label: "\(S.program) migrate") { ServiceTelemetry.handler($0, sink, settings[StandardKeys.logLevel]) }
    do {
      let loops = try EventLoopGroup(count: 1, name: "migrate")
      let result = await Result { try await run(settings, loops, log) }
      loops.shutDown()
      try result.get()
    } catch {
      throw Self.failure(error).exit()
    }
  }

  private func run(_ settings: Settings, _ loops: EventLoopGroup, _ log: Logger) async throws {
    let serving = try ServiceResources.database(S.self, settings)
    let owner = try ServiceResources.database(S.self, settings, url: settings[StandardKeys.databaseOwnerURL])
    if bootstrap || printSQL {
      var setup = try Bootstrap(service: S.name)
      // A password goes to the role it was given for, and to no other.
      if serving.user == setup.servingRole { setup.servingPassword = serving.password }
      if owner.user == setup.ownerRole { setup.ownerPassword = owner.password }
      if printSQL { return Output.print(setup.sql(database: serving.database)) }
      guard let url = settings[StandardKeys.databaseAdminURL] else {
        throw ServiceFailure(.configuration, "--bootstrap needs \(Settings.prefix(S.name))DATABASE_ADMIN_URL, or use --print-sql")
      }
      try await setup.run(ServiceResources.database(S.self, settings, url: url), group: loops, log: log)
      Output.print("schema \(S.name) and its roles are there\n")
    }
    let migrator = try Migrator(schema: S.name, migrations: S.migrations)
    if dryRun {
      for status in try await migrator.status(owner, group: loops, log: log) {
        Output.print("\(status.migration.version) \(status.migration.name): \(status.appliedAt == nil ? "missing" : "applied")\n")
      }
      return
    }
    let applied = try await migrator.migrate(owner, group: loops, log: log)
    for migration in applied { Output.print("applied \(migration.version) \(migration.name)\n") }
    Output.print("\(S.program): the schema is at version \(S.migrations.count)\n")
  }

  /// A step that the database refuses is a defect; a database that has other steps is the operator's to look at.
  private static func failure(_ error: any Error) -> ServiceFailure {
    guard let error = error as? DatabaseError, error.code == .migrationRefused else { return ServiceFailure(error) }
    return ServiceFailure(.configuration, error.message)
  }
}
