import EventLoop
import PostgreSQL
import RPC
import TestSupport
import Testing

@testable import ServiceKit

@Suite("A service whose database has few connections for it", .serialized)
struct ConnectionBudgetTests {
  private enum Stored: Service {
    static let name = "demo"
    static let configuration: [any ConfigurationKeyDeclaration] = []
    static let services: [ServiceDescriptor] = []
    static let migrations = [Migration(1, "create_note", "create table demo.note (id bigint primary key)")]
    static func build(_ context: ServiceContext) async throws -> ServiceParts { ServiceParts() }
  }

  /// Cores that the process may use: with one, there is nothing to be capped.
  private static let cores = min(EventLoopGroup.usableCores, Int((CPUQuota.current() ?? 256).rounded(.up)))

  /// Starts it as `serve` does, on a database that is prepared.
  ///
  /// - Returns: How many loops it runs on, or how its start failed; and what it logged.
  private static func start(
    on database: TestDatabase, _ changes: [String: String]
  ) async throws -> (outcome: Result<Int, ServiceFailure>, log: CapturedLog) {
    let url = try await database.prepare(Stored.name, Stored.migrations)
    let settings = try Settings(
      service: Stored.name, keys: Stored.keys, flags: ["listen": "127.0.0.1:0"],
      environment: ["PARLEY_DEMO_DATABASE_URL": url].merging(changes) { $1 })
    let log = CapturedLog()
    do throws(ServiceFailure) {
      let instance = try await ServiceInstance.start(Stored.self, settings: settings, log: log.logger)
      let count = instance.loops.loops.count
      instance.stop()
      try await instance.run()
      return (.success(count), log)
    } catch { return (.failure(error), log) }
  }

  private static func maximum(_ database: TestDatabase) async throws -> Int {
    try await database.open { database in
      try #require(try await database.value("select current_setting('max_connections')::int4", as: Int.self))
    }
  }

  @Test(
    "It starts on as many loops as there are connections for, and says why, instead of ending with 78 (PF-05)",
    .enabled(if: cores > 1))
  func capped() async throws {
    try await TestDatabase.with { database in
      // One loop with such a pool fits, and two do not.
      let pool = (try await Self.maximum(database) - 12) / 2
      let (outcome, log) = try await Self.start(on: database, ["PARLEY_DEMO_DATABASE_POOL": "\(pool)"])
      #expect(try outcome.get() == 1)
      let line = try #require(log.containing("as many loops as fit").first)
      #expect(line.contains(" loops=1") && line.contains(" cores=\(EventLoopGroup.usableCores)"), "\(line)")
      #expect(line.contains(" limitedBy=the connections that the database has for this copy"), "\(line)")
      // By its own choice, which nobody takes for more than it is.
      let (asked, _) = try await Self.start(
        on: database, ["PARLEY_DEMO_DATABASE_POOL": "\(pool)", "PARLEY_DEMO_LOOPS": "2"])
      guard case .failure(let failure) = asked else {
        Issue.record("two loops were started although they do not fit")
        return
      }
      #expect(failure.status == .configuration && failure.status.rawValue == 78 && failure.message.contains("2 loops"))
    }
  }

  @Test("Where not even one loop fits, it ends with 78 and says by how much it is too many (PF-05)")
  func none() async throws {
    try await TestDatabase.with { database in
      let copies = try await Self.maximum(database)
      let (outcome, _) = try await Self.start(on: database, ["PARLEY_DEMO_COPIES": "\(copies)"])
      guard case .failure(let failure) = outcome else {
        Issue.record("it was started without room for any connection")
        return
      }
      #expect(failure.status == .configuration && failure.message.contains("\(copies) copies with 1 loops"), "\(failure)")
    }
  }

  @Test("With connections for all of them it runs a loop for each core (PF-05)")
  func all() async throws {
    try await TestDatabase.with { database in
      let (outcome, log) = try await Self.start(on: database, ["PARLEY_DEMO_DATABASE_POOL": "1"])
      guard Self.cores == EventLoopGroup.usableCores, Self.cores < 50 else { return }
      #expect(try outcome.get() == Self.cores)
      #expect(log.containing("as many loops as fit").first?.contains("limitedBy") == false)
    }
  }
}
