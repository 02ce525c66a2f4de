import EventLoop
import Glibc
import Jobs
import Logging
import PostgreSQL
import Synchronization
import Telemetry

/// What `jobs_per_second` and `job_pickup_p99_ms` measure: trivial jobs from their enqueueing to their end, and how long an idle worker
/// takes to begin one. Everything is as in a service: fenced, and committed durably.
@main struct BenchJobs {
  private static let kind = JobKind<[UInt8]>("bench.trivial")

  static func main() async throws {
    var options = ["--jobs": "50000", "--pickups": "400"]
    var arguments = CommandLine.arguments.dropFirst()
    while let name = arguments.popFirst(), let value = arguments.popFirst() { options[name] = value }
    guard let url = options["--database"], let jobs = Int(options["--jobs"] ?? ""), let pickups = Int(options["--pickups"] ?? "")
    else {
      fatalError("usage: --database URL [--jobs 50000] [--pickups 400]")
    }
    let group = try EventLoopGroup(count: 1)
    let log = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
    var configuration = try DatabaseConfiguration(url)
    configuration.poolSize = 8
    try await Session.with(configuration, group: group, log: log) { session in
      try await session.script("drop schema if exists bench cascade; create schema bench")
      try await session.script(JobsMigration.create(schema: "bench", role: "nobody"))
      try await session.script(JobsMigration.hold(schema: "bench", role: "nobody"))
      // What an earlier run left to be written is on the disk before this one begins: an idle worker has an idle disk.
      try await session.script("checkpoint")
    }
    let database = try Database(configuration, group: group, log: log)
    await database.waitUntilReady()
    let isSynchronous: String? = try await database.value("show synchronous_commit")
    let syncs: String? = try await database.value("show fsync")
    guard isSynchronous == "on", syncs == "on" else { fatalError("synchronous_commit and fsync are on") }
    let queue = JobQueue(schema: "bench", database) { .now() }
    let times = try await pickUp(pickups, queue, group, log).sorted()
    let rate = try await throughput(jobs, queue, group, log)
    let left: Int? = try await database.value("select count(*) from bench.job")
    guard left == 0 else { fatalError("\(left ?? -1) jobs are left") }
    let worst = times[min(times.count - 1, times.count * 99 / 100)]
    print("{\"jobs_per_second\": \(rate), \"job_pickup_p50_ms\": \(times[times.count / 2]), \"job_pickup_p99_ms\": \(worst)}")
    await database.shutDown()
  }

  /// Jobs per second, from the first that is enqueued to the last that has ended. Four tasks enqueue, a hundred at a time.
  private static func throughput(_ count: Int, _ queue: JobQueue, _ group: EventLoopGroup, _ log: Logger) async throws -> Double {
    let ran = Mutex(0)
    let (ended, end) = AsyncStream<Void>.makeStream()
    var handlers = JobHandlers()
    handlers.handle(kind) { _, _ in
      if ran.withLock({
        $0 += 1; return $0
      }) == count {
        end.yield()
      }
    }
    let settings = WorkerSettings(queues: [.init("default", concurrency: 1_024)], concurrency: 1_024, name: "bench")
    let worker = JobWorker(queue, handlers, settings, on: group, log: log, metrics: JobMetrics(PrometheusRegistry()))
    let working = Task { try await worker.run() }
    let began = MonotonicInstant.now()
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for _ in 0..<4 {
        tasks.addTask(executorPreference: group.loops[0]) {
          for _ in 0..<(count / 400) {
            _ = try await queue.enqueue((0..<100).map { try kind.job([UInt8($0)]) })
          }
        }
      }
      try await tasks.waitForAll()
    }
    for await _ in ended { break }
    // The last ends are written with the worker's own.
    working.cancel()
    _ = await working.result
    let seconds = Double(MonotonicInstant.now().duration(since: began).nanoseconds) / 1e9
    guard ran.withLock({ $0 }) == count else { fatalError("a job ran twice") }
    return (Double(count) / seconds).rounded()
  }

  /// The milliseconds from the call that enqueues a job to the beginning of its handler, for a worker that has nothing else to do.
  private static func pickUp(_ count: Int, _ queue: JobQueue, _ group: EventLoopGroup, _ log: Logger) async throws -> [Double] {
    let (begun, begin) = AsyncStream<MonotonicInstant>.makeStream()
    var handlers = JobHandlers()
    handlers.handle(kind) { _, _ in begin.yield(.now()) }
    let worker = JobWorker(
      queue, handlers, WorkerSettings(name: "bench"), on: group, log: log, metrics: JobMetrics(PrometheusRegistry()))
    let working = Task { try await worker.run() }
    var times: [Double] = []
    var beginnings = begun.makeAsyncIterator()
    for _ in 0..<count {
      try await Task.sleep(for: .milliseconds(Int.random(in: 5...40)))
      let enqueued = MonotonicInstant.now()
      try await queue.enqueue([kind.job([])])
      guard let at = await beginnings.next() else { break }
      times.append(Double(at.duration(since: enqueued).nanoseconds) / 1e6)
    }
    working.cancel()
    _ = await working.result
    return times
  }
}

extension Duration {
  fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
