internal import EventLoop
internal import Logging
internal import Outbound
internal import PostgreSQL
internal import RPCServer
internal import Telemetry

/// What a process holds as long as it runs, and closes in the right order.
final class ServiceResources: Sendable {
  let loops: EventLoopGroup
  let outbound: HTTPClient
  let database: Database?
  let telemetry: ServiceTelemetry
  let tracing: ServiceTracing

  /// Starts the loops; connections are opened from now on.
  init<S: Service>(
    _ service: S.Type, _ settings: Settings, _ log: Logger, _ telemetry: ServiceTelemetry, _ clock: WallClock,
    loops count: Int
  ) throws {
    let loops = try EventLoopGroup(count: count, name: S.name)
    do {
      tracing = try ServiceTracing(S.self, settings, loops, log, telemetry)
      let observer = OutboundTelemetry(tracer: tracing.tracer, registry: telemetry.registry)
      outbound = try HTTPClient(
        loops: loops.loops, configuration: Self.outbound(S.self, settings), logger: log, observer: observer)
      database =
        try S.hasDatabase ? Self.connecting(S.self, settings, loops, log, tracing.tracer, clock, telemetry.costs?.all) : nil
    } catch {
      loops.shutDown()
      throw error
    }
    telemetry.sink?.gather(on: loops.loops)
    self.loops = loops
    self.telemetry = telemetry
    telemetry.registry.describeProcess(S.program)
    telemetry.registry.describe(loops)
    telemetry.registry.describe(outbound)
    if let database { telemetry.registry.describe(database) }
  }

  private static func connecting<S: Service>(
    _ service: S.Type, _ settings: Settings, _ loops: EventLoopGroup, _ log: Logger, _ tracer: Tracer, _ clock: WallClock,
    _ meter: StatementMeter?
  ) throws -> Database {
    var configuration = try database(S.self, settings)
    configuration.meter = meter
    // A clock that is moved on purpose is not to be compared with the server's.
    if !clock.isSystem { configuration.clockLead = nil }
    // Statements are of no interest to anybody when no call is recorded.
    let observer = tracer.isActive ? StatementSpans(tracer: tracer, configuration: configuration) : nil
    return try Database(configuration, group: loops, log: log, observer: observer)
  }

  /// Waits for the database, and sees that it is the one that this program expects.
  func connect<S: Service>(_ service: S.Type, _ settings: Settings, _ health: HealthStatus, _ log: Logger) async throws {
    guard let database else { return }
    let limit = settings[StandardKeys.startTimeout]
    log.info("waiting for the database", metadata: ["limit": "\(limit.configurationText)"])
    guard await Self.isReady(database, within: limit) else {
      throw ServiceFailure(
        .unavailable, "the database \(database.configuration) could not be reached within \(limit.configurationText)")
    }
    try await database.checkConnectionBudget()
    try await checkMigrations(S.self, database, log)
    database.onReadinessChange { health.set("database", holds: $0) }
  }

  /// Closes everything; calls under way fail.
  func close() async {
    await outbound.shutDown()
    await database?.shutDown()
    await tracing.shutDown()
    loops.shutDown()
  }

  private static func isReady(_ database: Database, within limit: Duration) async -> Bool {
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask { await database.waitUntilReady() }
      tasks.addTask { try? await Task.sleep(for: limit) }
      await tasks.next()
      tasks.cancelAll()
    }
    return database.isReady
  }

  /// A schema that is behind would fail call by call. One that is ahead is what an older copy sees while a newer version is
  /// rolled out, and migrations keep to what such a copy can live with.
  private func checkMigrations<S: Service>(_ service: S.Type, _ database: Database, _ log: Logger) async throws {
    let migrator = try Migrator(schema: S.name, migrations: S.migrations)
    do {
      let missing = try await migrator.status(database.configuration, group: loops, log: log).filter { $0.appliedAt == nil }
      guard missing.isEmpty else {
        throw ServiceFailure(
          .unavailable,
          "the database lacks \(missing.count) migrations, from \(missing[0].migration.version): run `\(S.program) migrate` first"
        )
      }
    } catch let error as DatabaseError where error.code == .migrationRefused {
      log.warning("the schema is not this program's own", metadata: ["problem": "\(error.message)"])
    }
  }

  static func database<S: Service>(
    _ service: S.Type, _ settings: Settings, url: String? = nil
  ) throws(DatabaseError) -> DatabaseConfiguration {
    var configuration = try DatabaseConfiguration(url ?? settings[StandardKeys.databaseURL])
    configuration.poolSize = settings[StandardKeys.databasePool]
    configuration.copies = settings[StandardKeys.copies]
    if configuration.applicationName == "parley" { configuration.applicationName = S.program }
    return configuration
  }

  private static func outbound<S: Service>(_ service: S.Type, _ settings: Settings) -> HTTPClientConfiguration {
    var configuration = HTTPClientConfiguration()
    configuration.userAgent = "\(S.program)/\(ServiceVersion.number)"
    configuration.caFile = settings[StandardKeys.outboundCAFile]?.path
    configuration.timeout = settings[StandardKeys.outboundTimeout]
    switch settings[StandardKeys.outboundProxy] {
    case "none": configuration.proxy = .none
    case "environment": configuration.proxy = .environment
    case let url: configuration.proxy = .url(url)
    }
    return configuration
  }
}
