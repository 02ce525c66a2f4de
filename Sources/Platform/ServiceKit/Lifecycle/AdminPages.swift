internal import RPCServer
internal import Telemetry

/// What the loopback listener answers: metrics for scrapers, probes for supervisors.
struct AdminPages: Sendable {
  let health: HealthStatus
  let liveness: LoopLiveness
  let registry: PrometheusRegistry
  /// A loop that has not turned for so long is stuck.
  static let stallLimit = Duration.seconds(5)

  /// The routes by path.
  var routes: [String: LoopbackListener.Route] {
    ["/metrics": registry.route, "/livez": { _ in live }, "/readyz": { _ in ready }, "/healthz": { _ in ready }]
  }

  /// Whether to restart the process: only if a loop is stuck. The database is no reason, since a restart would not bring it back.
  private var live: LoopbackListener.Response {
    let stalled = liveness.stalled(for: Self.stallLimit)
    return stalled.isEmpty ? .init("ok\n") : .init(status: 503, "stalled: \(stalled.joined(separator: ", "))\n")
  }

  /// Whether to send requests here.
  private var ready: LoopbackListener.Response {
    let reasons = health.reasons
    return reasons.isEmpty ? .init("ok\n") : .init(status: 503, "not serving: \(reasons.joined(separator: ", "))\n")
  }
}
