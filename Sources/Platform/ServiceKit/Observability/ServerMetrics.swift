internal import EventLoop
internal import HTTP2
internal import RPCServer
internal import Synchronization
internal import Telemetry

/// What the server says of itself, for all that one of its calls does not show: the place where what it counts becomes metrics.
struct ServerMetrics: Sendable {
  private let connections: PrometheusGauge
  private let failures: PrometheusCounter
  private let unexpected: PrometheusCounter
  private let streams: [String: PrometheusGauge]
  private let handlers: [String: PrometheusGauge]
  private let largeBytes: PrometheusGauge
  private let largeWaiting: PrometheusGauge
  private let http2: HTTP2Counters
  private let shed: [ShedReason: PrometheusCounter]
  private let httpRefused: @Sendable (Int) -> Void
  private let refused: (full: PrometheusCounter, address: PrometheusCounter, descriptors: PrometheusCounter)

  init(_ registry: PrometheusRegistry, _ loops: EventLoopGroup) {
    connections = registry.gauge("parley_server_connections", help: "Connections that are open.")
    failures = registry.counter("parley_server_connections_failed_total", help: "Connections that ended in an error.")
    unexpected = registry.counter(
      "parley_server_unexpected_errors_total", help: "Errors that no caller should see, each with an incident id in the log.")
    func perLoop(_ name: String, _ help: String) -> [String: PrometheusGauge] {
      Dictionary(
        loops.loops.map { ($0.name, registry.gauge(name, help: help, labels: [("loop", $0.name)])) }, uniquingKeysWith: { $1 })
    }
    largeBytes = registry.gauge(
      "parley_server_large_request_bytes", help: "Bytes of large requests that are let in, looked at four times a second.")
    largeWaiting = registry.gauge(
      "parley_server_large_requests_waiting", help: "Large requests that wait for their turn, looked at four times a second.")
    http2 = HTTP2Counters(registry)
    shed = Dictionary(
      uniqueKeysWithValues: ShedReason.allCases.map {
        let help = "Calls that were turned away, or cut short, because too much is going on."
        return ($0, registry.counter("parley_server_calls_shed_total", help: help, labels: [("reason", $0.rawValue)]))
      })
    httpRefused = { [registry] status in
      registry.counter(
        "parley_server_http_refused_total", help: "Plain HTTP requests that the server itself has turned away.",
        labels: [("status", "\(status)")]
      ).increment()
    }
    func refused(_ reason: String) -> PrometheusCounter {
      registry.counter(
        "parley_server_connections_refused_total", help: "Connections that were closed as soon as they were accepted.",
        labels: [("reason", reason)])
    }
    self.refused = (refused("full"), refused("full_for_address"), refused("out_of_descriptors"))
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
    let (toldShed, toldRefused) = (events.callShed, events.connectionsRefused)
    events.callShed = { [shed] reason in
      shed[reason]?.increment()
      toldShed(reason)
    }
    let toldHTTPRefused = events.httpRefused
    events.httpRefused = { [httpRefused] refusal, method, path, peer in
      httpRefused(refusal.status)
      toldHTTPRefused(refusal, method, path, peer)
    }
    events.connectionsRefused = { [refused] refusals in
      refused.full.increment(by: Int64(refusals.full))
      refused.address.increment(by: Int64(refusals.fullForAddress))
      refused.descriptors.increment(by: Int64(refusals.outOfDescriptors))
      toldRefused(refusals)
    }
    events.connectionsChanged = { [connections] change in
      connections.increment(by: Double(change))
      toldChange(change)
    }
  }

  /// Takes note of what goes on on the loop that the caller is on.
  func look(_ server: RPCServer, _ loop: EventLoop) {
    guard let counts = server.counts(on: loop) else { return }
    let large = server.largeRequests
    largeBytes.set(Double(large.bytes))
    largeWaiting.set(Double(large.waiting))
    streams[loop.name]?.set(counts.streams)
    handlers[loop.name]?.set(counts.runningHandlers)
    http2.take(counts.http2, of: loop.name)
  }
}

/// What connections have lived through, as counters: each look adds what is new.
private final class HTTP2Counters: Sendable {
  private let seen = Mutex<[String: HTTP2Statistics]>([:])
  private let counters: [(counter: PrometheusCounter, value: @Sendable (HTTP2Statistics) -> Int)]

  init(_ registry: PrometheusRegistry) {
    func counter(_ name: String, _ help: String, _ value: @escaping @Sendable (HTTP2Statistics) -> Int) -> (
      PrometheusCounter, @Sendable (HTTP2Statistics) -> Int
    ) {
      (registry.counter("parley_http2_\(name)_total", help: help), value)
    }
    counters = [
      counter("streams", "Streams that were opened.") { $0.streamsOpened },
      counter("resets_received", "Streams that the peer has reset.") { $0.resetsReceived },
      counter("resets_sent", "Streams that this side has reset.") { $0.resetsSent },
      counter("glitches", "What peers did without any use.") { $0.glitches },
      counter("abusive_connections", "Connections that were ended with ENHANCE_YOUR_CALM.") { $0.connectionsEndedForAbuse },
      counter("stalls", "Responses and connections that were given up because the peer took nothing of them.") { $0.stalls },
    ]
  }

  func take(_ now: HTTP2Statistics, of loop: String) {
    let before = seen.withLock { seen in
      defer { seen[loop] = now }
      return seen[loop] ?? HTTP2Statistics()
    }
    for (counter, value) in counters { counter.increment(by: Int64(value(now) - value(before))) }
  }
}
