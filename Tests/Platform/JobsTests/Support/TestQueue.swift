import EventLoop
import Jobs
import Logging
import PostgreSQL
import Synchronization
import Telemetry
import TestSupport
import Values

/// A queue in a database of the test's own, used as the serving role, with a clock that the test moves.
final class TestQueue: Sendable {
  let test: TestDatabase
  let database: Database
  let queue: JobQueue
  let clock: TestTime
  let registry = PrometheusRegistry()
  let metrics: JobMetrics

  private init(_ test: TestDatabase, _ database: Database) {
    self.test = test
    self.database = database
    let clock = TestTime()
    self.clock = clock
    queue = JobQueue(schema: "work", database) { clock.now }
    metrics = JobMetrics(registry)
  }

  static func with(loops: Int = 1, pool: Int = 8, _ body: (TestQueue) async throws -> Void) async throws {
    try await TestDatabase.with(loops: loops) { test in
      _ = try await test.prepare(
        "work",
        [
          Migration(1, "create_jobs", JobsMigration.create(schema: "work", role: "parley_work")),
          Migration(2, "hold_jobs", JobsMigration.hold(schema: "work", role: "parley_work")),
          Migration(3, "schedule_jobs", JobsMigration.schedules(schema: "work", role: "parley_work")),
        ])
      let change = { (configuration: inout DatabaseConfiguration) in
        configuration.user = "parley_work"
        configuration.poolSize = pool
      }
      try await test.open(change) { database in try await body(TestQueue(test, database)) }
    }
  }

  /// Makes kinds known, as a worker does that has handlers for them.
  func take(_ kinds: String...) async throws {
    for kind in kinds {
      try await database.execute(
        "insert into work.job_taker (kind, since) values (\(kind), \(clock.now)) on conflict do nothing")
    }
  }

  /// How many rows a table of the queue has.
  func count(_ table: StaticString) async throws -> Int {
    try await database.value("select count(*) from \(fragment: table)") ?? 0
  }

  /// `chance` decides about pauses: half of the ceiling, unless a test says otherwise.
  func worker(_ handlers: JobHandlers, _ settings: WorkerSettings = .quick, chance: Double = 0.5) -> JobWorker {
    JobWorker(queue, handlers, settings, on: test.group, log: test.log, metrics: metrics, chance: { chance })
  }

  /// Lets a worker work while `body` runs; then stops it and waits for its end.
  func working(
    _ handlers: JobHandlers, _ settings: WorkerSettings = .quick, chance: Double = 0.5,
    _ body: (JobWorker) async throws -> Void
  ) async throws {
    let worker = worker(handlers, settings, chance: chance)
    let task = Task { try await worker.run() }
    do {
      try await body(worker)
    } catch {
      task.cancel()
      _ = await task.result
      throw error
    }
    task.cancel()
    _ = await task.result
  }

  /// The samples of a metric, as Prometheus reads them.
  func samples(_ name: String) -> [String] {
    String(decoding: registry.exposition(), as: UTF8.self).split(separator: "\n").map(String.init).filter { $0.hasPrefix(name) }
  }
}

extension WorkerSettings {
  /// Looks often, so that tests need not wait. A worker also knows its lease by the clock that no test moves: it is long enough for
  /// a machine that stands still for a while.
  static var quick: WorkerSettings {
    WorkerSettings(concurrency: 16, lease: .seconds(120), poll: .milliseconds(50), grace: .seconds(2), name: "test")
  }
}

/// The time of day, which stands until it is moved.
final class TestTime: Sendable {
  private let time = Mutex(Instant(seconds: 1_800_000_000))

  var now: Instant { time.withLock { $0 } }

  func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
}
