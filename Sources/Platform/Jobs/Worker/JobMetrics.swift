internal import Synchronization
public import Telemetry
public import Values

/// What is counted about jobs. One for each process.
public final class JobMetrics: Sendable {
  private let registry: PrometheusRegistry
  private let known: Mutex<Set<String>>
  private let waits = Mutex<[String: PrometheusHistogram]>([:])
  private let deaf = Mutex<[String: Int]>([:])
  private let series = Mutex<[String: (count: PrometheusCounter, seconds: PrometheusHistogram)]>([:])

  /// Counts in a registry.
  ///
  /// - Parameters:
  ///   - registry: The service's.
  ///   - queues: Queues that are shown even while they are empty.
  public init(_ registry: PrometheusRegistry, queues: [String] = ["default"]) {
    self.registry = registry
    known = Mutex(Set(queues))
    for queue in queues { show(QueueStatistics(empty: queue), 0) }
  }

  /// Shows what the queues hold.
  ///
  /// - Parameters:
  ///   - queues: What each queue holds; one that was among them before and is not now is empty.
  ///   - now: When they were looked at.
  public func publish(_ queues: [QueueStatistics], at now: Instant) {
    for queue in queues { show(queue, queue.oldestDueAt.map { max(0, now.duration(since: $0).seconds) } ?? 0) }
    // A queue that holds nothing any more is not among them.
    let emptied = known.withLock { known in
      let emptied = known.subtracting(queues.map(\.name))
      known.formUnion(queues.map(\.name))
      return emptied
    }
    for name in emptied { show(QueueStatistics(empty: name), 0) }
  }

  private func show(_ queue: QueueStatistics, _ oldestReady: Double) {
    let states = [
      ("ready", queue.ready), ("scheduled", queue.scheduled), ("running", queue.running), ("dead", queue.dead),
      ("held", queue.held),
    ]
    for (state, count) in states {
      registry.gauge(
        "parley_jobs", help: "Jobs by queue and state, in the whole database.",
        labels: [("queue", queue.name), ("state", state)]
      ).set(count)
    }
    registry.gauge(
      "parley_job_oldest_ready_seconds", help: "For how long the oldest job that is due has waited.",
      labels: [("queue", queue.name)]
    ).set(oldestReady)
    registry.gauge(
      "parley_job_queue_paused", help: "Whether an operator has paused the queue.", labels: [("queue", queue.name)]
    ).set(queue.isPaused ? 1 : 0)
  }

  func waited(_ duration: Duration, in queue: String) {
    let histogram = waits.withLock { waits in
      if let found = waits[queue] { return found }
      let made = registry.histogram(
        "parley_job_wait_seconds", help: "From when a job was due until it was claimed.", labels: [("queue", queue)])
      waits[queue] = made
      return made
    }
    histogram.record(duration.seconds)
  }

  /// A handler goes on though its run was given up.
  func deafened(kind: String) { showDeaf(kind, 1) }

  /// Such a handler has returned after all.
  func returned(kind: String) { showDeaf(kind, -1) }

  private func showDeaf(_ kind: String, _ change: Int) {
    deaf.withLock { deaf in
      deaf[kind, default: 0] += change
      registry.gauge(
        "parley_job_deaf_runs", help: "Handlers that go on though their runs were cancelled and given up, in this process.",
        labels: [("kind", kind)]
      ).set(deaf[kind] ?? 0)
    }
  }

  func ended(_ outcome: RunOutcome, kind: String, after duration: Duration) {
    let key = "\(kind) \(outcome.rawValue)"
    let (count, seconds) = series.withLock { series in
      if let found = series[key] { return found }
      let made = (
        registry.counter(
          "parley_job_runs_total", help: "Runs of jobs by how they ended.",
          labels: [("kind", kind), ("outcome", outcome.rawValue)]),
        registry.histogram("parley_job_run_seconds", help: "How long runs of jobs took.", labels: [("kind", kind)])
      )
      series[key] = made
      return made
    }
    count.increment()
    seconds.record(duration.seconds)
  }
}

extension Duration {
  fileprivate var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
