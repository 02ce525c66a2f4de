public import ServiceKit

/// The settings of a service's workers. Each is `PARLEY_<SERVICE>_JOBS_<KEY>`.
public enum JobKeys {
  /// How many jobs run at once.
  public static let concurrency = ConfigurationKey<Int>(
    "jobs.concurrency", default: 32, in: 0...4_096,
    "How many jobs run at once in this process; 0: it enqueues jobs and runs none.")
  /// How long a claimed job is a worker's.
  public static let lease = ConfigurationKey<Duration>(
    "jobs.lease", default: .seconds(20), in: .seconds(1) ... .seconds(600),
    "How long a claimed job is a worker's without a sign of life: a killed worker's jobs run again after that.")
  /// How often a worker looks.
  public static let poll = ConfigurationKey<Duration>(
    "jobs.poll", default: .seconds(1), in: .milliseconds(20) ... .seconds(60),
    "How often a worker looks for jobs by itself, whatever it is notified of.")
  /// How long running jobs may take at the end.
  public static let grace = ConfigurationKey<Duration>(
    "jobs.grace", default: .seconds(3), in: .zero ... .seconds(5),
    "How long running jobs may take to end when the process stops, before they are given back.")
  /// How long dead jobs are kept.
  public static let deadRetention = ConfigurationKey<Duration>(
    "jobs.deadRetention", default: .seconds(30 * 86_400), in: .seconds(3_600) ... .seconds(3_660 * 86_400),
    "How long jobs that failed for good are kept.")

  /// All of them, in the order of documentation.
  public static let all: [any ConfigurationKeyDeclaration] = [concurrency, lease, poll, grace, deadRetention]
}
