public import Telemetry

extension StandardKeys {
  /// Where spans are sent.
  public static let traceEndpoint = ConfigurationKey<TraceEndpoint?>(
    optional: "trace.endpoint",
    "The collector that spans are sent to over OTLP/gRPC, such as http://127.0.0.1:4317 or https://…; without it none are made.")
  /// How many traces are recorded.
  public static let traceRatio = ConfigurationKey<Double>(
    "trace.ratio", default: 0.01, in: 0...1,
    "Of the traces that begin here, how many are recorded; a caller that sends its own trace decides for itself.")
  /// Which calls are always logged.
  public static let slowCall = ConfigurationKey<Duration>(
    "log.slowCall", default: .seconds(1), in: .zero ... .seconds(3_600),
    "A call that takes so long is in the access log whatever the sampling.")

  /// What a process tells of itself.
  static let telemetry: [any ConfigurationKeyDeclaration] = [slowCall, traceEndpoint, traceRatio]
}

extension TraceEndpoint: ConfigurationValue {
  /// What a text must be to be read.
  public static var expectation: String { "a URL with http or https, a host, and a port unless it is 4317" }
  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) { self.init(configurationText) }
  /// The value as it would be written.
  public var configurationText: String { description }
}

extension Double: ConfigurationValue {
  /// What a text must be to be read.
  public static var expectation: String { "a number" }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    guard let value = Double(configurationText), value.isFinite else { return nil }
    self = value
  }

  /// The value as it would be written.
  public var configurationText: String { "\(self)" }
}
