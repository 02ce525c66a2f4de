internal import EventLoop
internal import Jobs
internal import Logging
internal import PostgreSQL

/// The queue with the table of its effects, and the world outside, which knows nothing of either.
struct ChaosPlace: Sendable {
  let database: Database
  let outside: Database
  let queue: JobQueue
  let loop: EventLoop

  init(_ url: String, _ outside: String, _ group: EventLoopGroup, _ log: Logger) throws {
    var configuration = try DatabaseConfiguration(url)
    configuration.poolSize = 8
    database = try Database(configuration, group: group, log: log)
    self.outside = try Database(DatabaseConfiguration(outside), group: group, log: log)
    queue = JobQueue(schema: "work", database) { .now() }
    loop = group.loops[0]
  }
}

enum ChaosSchema {
  /// Nothing here keeps a second effect out: whatever is done twice has two rows.
  private static let tables = """
    create table work.ordered (number bigint primary key);
    create table work.effect (number bigint not null, step text not null, job uuid not null, lease bigint not null, kept text not null);
    """
  private static let calls = """
    create table charge (at bigserial, key text not null, number bigint not null, lease bigint not null);
    """

  static func prepare(_ url: String, _ outside: String, _ group: EventLoopGroup, _ log: Logger) async throws {
    try await Session.with(DatabaseConfiguration(url), group: group, log: log) { session in
      try await session.script("create schema work")
      try await session.script(JobsMigration.create(schema: "work", role: "nobody"))
      try await session.script(JobsMigration.hold(schema: "work", role: "nobody"))
      try await session.script(tables)
    }
    try await Session.with(DatabaseConfiguration(outside), group: group, log: log) { try await $0.script(calls) }
  }
}
