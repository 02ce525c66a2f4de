internal import EventLoop
internal import Glibc
internal import Logging
public import ServiceKit
internal import Values

/// The jobs of a service: its queue, and the worker that runs beside its server.
///
/// ```swift
/// let jobs = ServiceJobs(context, schema: "auth")
/// let accounts = Accounts(context, engine: jobs.engine)                 // enqueues
/// return ServiceParts(joining: [accounts.parts, jobs.parts([accounts.jobHandlers])])   // works
/// ```
public struct ServiceJobs: Sendable {
  /// What services enqueue with.
  public let engine: PostgreSQLJobs
  private let isWorking: Bool

  /// The queue in a schema that has had `JobsMigration`.
  ///
  /// - Parameters:
  ///   - context: What the service is built from; its configuration lists ``JobKeys/all``.
  ///   - schema: The schema of the service.
  ///   - queues: The queues beside `default` that the service has, each with how many of its jobs run at once.
  public init(_ context: ServiceContext, schema: StaticString, queues: [WorkerSettings.Queue] = []) {
    let settings = context.settings
    let clock = context.clock
    let queue = JobQueue(schema: schema, context.database) { Instant(clock) }
    let concurrency = settings[JobKeys.concurrency]
    isWorking = concurrency > 0
    let worker = WorkerSettings(
      queues: [WorkerSettings.Queue("default", concurrency: concurrency)] + queues, concurrency: concurrency,
      lease: settings[JobKeys.lease], poll: settings[JobKeys.poll], grace: settings[JobKeys.grace],
      deadRetention: settings[JobKeys.deadRetention], name: Self.processName)
    engine = PostgreSQLJobs(
      queue, worker, on: context.loops, log: context.log, metrics: JobMetrics(context.metrics, queues: worker.queues.map(\.name)))
  }

  /// The worker, as a part of the service.
  ///
  /// - Parameter handlers: Those of all parts of the service.
  public func parts(_ handlers: [JobHandlers]) -> ServiceParts {
    let handlers = JobHandlers(joining: handlers)
    let (engine, isWorking) = (engine, isWorking)
    return ServiceParts(jobs: [BackgroundJob("jobs") { try await engine.work(isWorking ? handlers : JobHandlers()) }])
  }

  /// The machine and the number of this process, for operators.
  private static var processName: String {
    var name = [CChar](repeating: 0, count: 256)
    let host = gethostname(&name, name.count - 1) == 0 ? name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) } : "?"
    return "\(host)/\(getpid())"
  }
}
