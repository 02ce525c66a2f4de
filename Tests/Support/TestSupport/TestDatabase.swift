public import EventLoop
public import Logging
public import PostgreSQL
internal import Values

/// A fresh, empty database of a test's own, dropped when the test is done with it.
public struct TestDatabase: Sendable {
  /// How to reach it, as superuser.
  public let configuration: DatabaseConfiguration
  /// The loops that the test runs on.
  public let group: EventLoopGroup
  /// Where the test's connections log: nowhere.
  public let log: Logger

  /// Creates a database, hands it to `body` and drops it, whatever `body` leaves connected.
  public static func with<Value>(
    loops: Int = 1, on server: DatabaseConfiguration? = nil, _ body: (TestDatabase) async throws -> Value
  ) async throws -> Value {
    let server = if let server { server } else { try await PrivatePostgreSQL.shared() }
    let group = try EventLoopGroup(count: loops, name: "test")
    let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let name = "t_" + UUID.v7().description.filter { $0 != "-" }
    var configuration = server
    configuration.database = name
    do {
      try await Session.with(server, group: group, log: log) { try await $0.script("create database \(name)") }
      let value = try await body(TestDatabase(configuration: configuration, group: group, log: log))
      try await finish(server, name, group, log)
      return value
    } catch {
      try? await finish(server, name, group, log)
      throw error
    }
  }

  private static func finish(_ server: DatabaseConfiguration, _ name: String, _ group: EventLoopGroup, _ log: Logger) async throws
  {
    do {
      try await Session.with(server, group: group, log: log) {
        try await $0.script("drop database if exists \(name) with (force)")
      }
    } catch {
      try await PrivatePostgreSQL.offload { group.shutDown() }
      throw error
    }
    try await PrivatePostgreSQL.offload { group.shutDown() }
  }

  /// Opens the database for the length of `body`, with the given changes to its configuration.
  public func open<Value>(
    _ change: (inout DatabaseConfiguration) -> Void = { _ in }, _ body: (Database) async throws -> Value
  ) async throws -> Value {
    var configuration = configuration
    change(&configuration)
    let database = try Database(configuration, group: group, log: log)
    await database.waitUntilReady()
    do {
      let value = try await body(database)
      await database.shutDown()
      return value
    } catch {
      await database.shutDown()
      throw error
    }
  }

  /// Runs trusted SQL as superuser.
  public func script(_ text: String) async throws {
    try await Session.with(configuration, group: group, log: log) { try await $0.script(text) }
  }

  /// Makes the two roles of a service and its schema.
  ///
  /// - Returns: The URL of the serving role.
  public func prepare(_ service: String, _ migrations: [Migration]) async throws -> String {
    // Roles belong to the whole cluster: two tests may want to create them at once.
    for attempt in 1... {
      do {
        try await Bootstrap(service: service).run(configuration, group: group, log: log)
        break
      } catch let error as DatabaseError where error.code == .alreadyExists && attempt < 5 {}
    }
    var owner = configuration
    owner.user = "parley_\(service)_owner"
    try await Migrator(schema: service, migrations: migrations).migrate(owner, group: group, log: log)
    return
      "postgresql://parley_\(service)@/\(configuration.database)?host=\(configuration.host)&port=\(configuration.port)"
  }
}
