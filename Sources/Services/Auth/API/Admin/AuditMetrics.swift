internal import Telemetry

/// How operators are told that the audit has holes.
enum AuditMetrics {
  /// Counts entries of one of the audit's tables that could not be written. Where one must be, nothing is handed out either.
  static func failures(_ metrics: PrometheusRegistry, of table: String) -> PrometheusCounter {
    metrics.counter(
      "parley_audit_failures_total", help: "Entries of the audit that could not be written.", labels: [("table", table)])
  }
}
