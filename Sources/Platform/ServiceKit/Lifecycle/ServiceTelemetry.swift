internal import Logging
public import Telemetry

/// Where a process's log lines and metrics go.
public struct ServiceTelemetry: Sendable {
  /// All metrics.
  public let registry: PrometheusRegistry
  /// Where log lines are written; nil for a log of somebody else's, as in tests.
  public let sink: LogSink?

  /// Where spans go when no collector is set; nil for nowhere.
  public let spans: (any SpanSink)?

  /// Who counts what each call costs the database; nil for nobody.
  public let costs: CallCosts?

  /// Metrics in `registry`, lines to `sink`, spans to `spans` unless the settings name a collector, costs to `costs`.
  public init(
    registry: PrometheusRegistry = PrometheusRegistry(), sink: LogSink? = nil, spans: (any SpanSink)? = nil,
    costs: CallCosts? = nil
  ) {
    self.spans = spans
    self.costs = costs
    self.registry = registry
    self.sink = sink
  }

  /// A handler for the loggers of this process: JSON lines without secrets, with the request's id.
  static func handler(_ label: String, _ sink: LogSink, _ level: Logger.Level) -> any LogHandler {
    JSONLogHandler(label: label, sink: sink, level: level, metadataProvider: HTTPRequestID.metadataProvider)
  }
}
