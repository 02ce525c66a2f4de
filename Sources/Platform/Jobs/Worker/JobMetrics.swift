internal import PostgreSQL
internal import Synchronization
public import Telemetry

/// What is counted about jobs. One for each process.
public final class JobMetrics: Sendable {
  private let registry: PrometheusRegistry
  private let series = Mutex<[String: (count: PrometheusCounter, seconds: PrometheusHistogram)]>([:])

  /// Counts in a registry.
  ///
  /// - Parameter registry: The service's.
  public init(_ registry: PrometheusRegistry) {
    self.registry = registry
  }

  /// Shows what the queues hold.
  func publish(_ queues: [QueueStatistics], at now: Timestamp) {
    for queue in queues {
      let states = [
        ("ready", queue.ready), ("scheduled", queue.scheduled), ("running", queue.running), ("dead", queue.dead),
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
      ).set(queue.oldestDueAt.map { max(0, now.duration(since: $0).seconds) } ?? 0)
      registry.gauge(
        "parley_job_queue_paused", help: "Whether an operator has paused the queue.", labels: [("queue", queue.name)]
      ).set(queue.isPaused ? 1 : 0)
    }
  }

  func waited(_ duration: Duration, in queue: String) {
    registry.histogram(
      "parley_job_wait_seconds", help: "From when a job was due until it was claimed.", labels: [("queue", queue)]
    ).record(duration.seconds)
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
