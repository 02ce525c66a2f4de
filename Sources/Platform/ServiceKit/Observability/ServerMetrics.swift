internal import EventLoop
internal import RPCServer
internal import Telemetry

/// What the server says of itself, for all that one of its calls does not show: the place where what it counts becomes metrics.
struct ServerMetrics: Sendable {
  private let connections: PrometheusGauge
  private let failures: PrometheusCounter
  private let unexpected: PrometheusCounter
  private let streams: [String: PrometheusGauge]
  private let handlers: [String: PrometheusGauge]

  init(_ registry: PrometheusRegistry, _ loops: EventLoopGroup) {
    connections = registry.gauge("parley_server_connections", help: "Connections that are open.")
    failures = registry.counter("parley_server_connections_failed_total", help: "Connections that ended in an error.")
    unexpected = registry.counter(
      "parley_server_unexpected_errors_total", help: "Errors that no caller should see, each with an incident id in the log.")
    func perLoop(_ name: String, _ help: String) -> [String: PrometheusGauge] {
      Dictionary(
        loops.loops.map { ($0.name, registry.gauge(name, help: help, labels: [("loop", $0.name)])) }, uniquingKeysWith: { $1 })
    }
    streams = perLoop("parley_server_streams", "Streams that are open, looked at four times a second.")
    handlers = perLoop("parley_server_running_handlers", "Handlers that are running, looked at four times a second.")
  }

  /// Counts what happens beside telling whoever is told already.
  func observe(_ events: inout RPCServerEvents) {
    let (toldError, toldHTTPError, toldFailure, toldChange) = (
      events.unexpectedError, events.unexpectedHTTPError, events.connectionFailed, events.connectionsChanged
    )
    events.unexpectedError = { [unexpected] call, error, incident in
      unexpected.increment()
      toldError(call, error, incident)
    }
    events.unexpectedHTTPError = { [unexpected] path, error, incident in
      unexpected.increment()
      toldHTTPError(path, error, incident)
    }
    events.connectionFailed = { [failures] peer, error in
      failures.increment()
      toldFailure(peer, error)
    }
    events.connectionsChanged = { [connections] change in
      connections.increment(by: Double(change))
      toldChange(change)
    }
  }

  /// Takes note of what goes on on the loop that the caller is on.
  func look(_ server: RPCServer, _ loop: EventLoop) {
    guard let counts = server.counts(on: loop) else { return }
    streams[loop.name]?.set(counts.streams)
    handlers[loop.name]?.set(counts.runningHandlers)
  }
}
