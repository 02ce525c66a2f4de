internal import CoreMetrics

/// What an operator sees of a key set: whether it can be fetched, and whether tokens are judged by keys that are overdue.
struct KeyMetrics: Sendable {
  private let fetches: Counter
  private let failures: Counter
  private let overdueUses: Counter
  private let overdue: Gauge

  init(_ name: String, _ factory: any MetricsFactory) {
    func counter(_ label: String, _ more: [(String, String)] = []) -> Counter {
      Counter(label: label, dimensions: [("keys", name)] + more, factory: factory)
    }
    fetches = counter("parley_provider_key_fetches_total", [("outcome", "fetched")])
    failures = counter("parley_provider_key_fetches_total", [("outcome", "failed")])
    overdueUses = counter("parley_provider_overdue_keys_used_total")
    overdue = Gauge(label: "parley_provider_keys_overdue_seconds", dimensions: [("keys", name)], factory: factory)
    overdue.record(0)
  }

  func fetched() {
    fetches.increment()
    overdue.record(0)
  }

  func failed() { failures.increment() }

  /// Keys were used although they should have been fetched anew by now: alarm on either of these.
  func used(overdueBy duration: Duration) {
    overdueUses.increment()
    overdue.record(duration.components.seconds)
  }
}
