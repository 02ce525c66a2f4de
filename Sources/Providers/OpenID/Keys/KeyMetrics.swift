internal import Telemetry

/// What an operator sees of a key set: whether it can be fetched, and whether tokens are judged by keys that are overdue.
struct KeyMetrics: Sendable {
  private let fetches: PrometheusCounter
  private let failures: PrometheusCounter
  private let overdueUses: PrometheusCounter
  private let overdue: PrometheusGauge

  init(_ name: String, _ registry: PrometheusRegistry) {
    func fetches(_ outcome: String) -> PrometheusCounter {
      registry.counter(
        "parley_provider_key_fetches_total", help: "Fetches of a provider's key set.",
        labels: [("keys", name), ("outcome", outcome)])
    }
    self.fetches = fetches("fetched")
    failures = fetches("failed")
    overdueUses = registry.counter(
      "parley_provider_overdue_keys_used_total", help: "Tokens judged by keys that should have been fetched anew.",
      labels: [("keys", name)])
    overdue = registry.gauge(
      "parley_provider_keys_overdue_seconds", help: "For how long the keys in use should have been fetched anew.",
      labels: [("keys", name)])
    overdue.set(0)
  }

  func fetched() {
    fetches.increment()
    overdue.set(0)
  }

  func failed() { failures.increment() }

  /// Keys were used although they should have been fetched anew by now: alarm on either of these.
  func used(overdueBy duration: Duration) {
    overdueUses.increment()
    overdue.set(Double(duration.components.seconds))
  }
}
