internal import EventLoop
internal import HTTP2
internal import RPCServer

/// One limit of the server: the property that it is, and the key that sets it.
public struct LimitKey: Sendable {
  /// The property's path in `RPCServerConfiguration`: `http2.idleTimeout`.
  public let property: String
  /// The key: `limits.` and the last part of the path, unless it has a shorter name.
  public let key: any ConfigurationKeyDeclaration
  /// The least and the most that it may be, as they are written.
  public let bounds: (least: String, most: String)
  let apply: @Sendable (Settings, inout RPCServerConfiguration) -> Void
  private let declared: @Sendable (RPCServerConfiguration) -> any ConfigurationKeyDeclaration

  /// A limit whose default is the property's own.
  init<Value: ConfigurationValue & Comparable>(
    _ property: String, _ path: any WritableKeyPath<RPCServerConfiguration, Value> & Sendable, _ range: ClosedRange<Value>,
    named name: String? = nil, _ documentation: String
  ) {
    let key = ConfigurationKey<Value>(
      Self.name(property, name), default: RPCServerConfiguration()[keyPath: path], in: range, documentation)
    self.property = property
    self.key = key
    bounds = (range.lowerBound.configurationText, range.upperBound.configurationText)
    declared = { key.defaulting(to: $0[keyPath: path]) }
    apply = { settings, limits in limits[keyPath: path] = settings[key] }
  }

  /// The same for a limit that there may be none of, which is written `none`.
  init<Value: ConfigurationValue & Comparable>(
    _ property: String, _ path: any WritableKeyPath<RPCServerConfiguration, Value?> & Sendable, _ range: ClosedRange<Value>,
    named name: String? = nil, _ documentation: String
  ) {
    let bounds = "\(range.lowerBound.configurationText) to \(range.upperBound.configurationText)"
    let key = ConfigurationKey<ValueOrNone<Value>>(
      Self.name(property, name), default: ValueOrNone(RPCServerConfiguration()[keyPath: path]),
      check: { $0.value.map { range.contains($0) } ?? true ? nil : bounds }, documentation)
    self.property = property
    self.key = key
    self.bounds = (range.lowerBound.configurationText, range.upperBound.configurationText)
    declared = { key.defaulting(to: ValueOrNone($0[keyPath: path])) }
    apply = { settings, limits in limits[keyPath: path] = settings[key].value }
  }

  /// The key with what holds by default in a configuration.
  func key(defaulting configuration: RPCServerConfiguration) -> any ConfigurationKeyDeclaration { declared(configuration) }

  private static func name(_ property: String, _ name: String?) -> String {
    "limits." + (name ?? property.split(separator: ".").last.map(String.init) ?? property)
  }
}

extension StandardKeys {
  /// A key for each limit of `RPCServerConfiguration` and of the limits in it, but for those that have older names. A new limit
  /// is one more line here; a test finds the ones that are missing.
  public static let limits: [LimitKey] = [
    .init("http2.concurrentStreams", \.http2.concurrentStreams, 1...1_000_000, "Streams that a client may have open at once."),
    .init(
      "http2.headerListBytes", \.http2.headerListBytes, 1_024...(1 << 20), "Bytes of a request's headers, 32 more per field."),
    .init(
      "http2.headerListTolerance", \.http2.headerListTolerance, 1...1_024, "Headers so many times too long end the connection."),
    .init(
      "http2.streamWindowBytes", \.http2.streamWindowBytes, 1_024...(1 << 30), "Bytes that a client may send ahead per stream."),
    .init("http2.connectionWindowBytes", \.http2.connectionWindowBytes, 65_535...(1 << 30), "The same on all streams together."),
    .init("http2.frameBytes", \.http2.frameBytes, 16_384...16_777_215, "Bytes of the largest frame accepted."),
    .init(
      "http2.outputBytes", \.http2.outputBytes, 1_024...(1 << 30), "Bytes waiting for a client before it is not read either."),
    .init(
      "http2.streamOutputBytes", \.http2.streamOutputBytes, 1...(1 << 30), "Bytes waiting on a stream before a writer suspends."),
    .init("http2.handshakeTimeout", \.http2.handshakeTimeout, seconds, "Time for the TLS handshake, the preface and SETTINGS."),
    .init("http2.unreadRequestTime", \.http2.unreadRequestTime, short, "Time that a request may go on after its response."),
    .init("http2.idleTimeout", \.http2.idleTimeout, long, "Time after which a connection without streams is closed."),
    .init("http2.drainNotice", \.http2.drainNotice, .zero ... .seconds(60), "Time between the two GOAWAYs of a drain."),
    .init("http2.settings", \.http2.settings, 16...1_024, "SETTINGS in one frame."),
    .init("http2.continuations", \.http2.continuations, 1...1_024, "CONTINUATION frames of one header block."),
    .init(
      "http2.glitchBurst", \.http2.glitchBurst, 100...1_000_000, "What a client may do at once that is of no use to anybody."),
    .init("http2.glitchesPerSecond", \.http2.glitchesPerSecond, 1...1_000_000, "How much of that is forgiven per second."),
    .init("http2.queuedFrames", \.http2.queuedFrames, 128...10_000_000, "Frames without a body that may wait for a client."),
    .init(
      "http2.queuedAcknowledgements", \.http2.queuedAcknowledgements, 10...100_000, "Answers to PING and SETTINGS that may wait."),
    .init(
      "http2.writeStallTimeout", \.http2.writeStallTimeout, seconds, "Time in which a client may take nothing of a response."),
    .init("http2.farewellTime", \.http2.farewellTime, short, "Time for the reason of a connection's end to leave."),
    .init("http2.headerTimeout", \.http2.headerTimeout, seconds, "Time for a request's headers to arrive whole."),
    .init("http2.maximumAge", \.http2.maximumAge, long, named: "connectionAge", "Age at which a connection is drained."),
    .init("http2.ageGrace", \.http2.ageGrace, seconds, named: "connectionAgeGrace", "Time for the calls of such a connection."),
    .init("http2.keepaliveTime", \.http2.keepaliveTime, long, "Silence after which a client is asked for a sign of life."),
    .init("http2.keepaliveTimeout", \.http2.keepaliveTimeout, seconds, "Time for that sign of life."),
    .init(
      "http2.responseBytes", \.http2.responseBytes, 1_024...(1 << 40), "Bytes of responses waiting for one connection."),
    .init(
      "http2.processResponseBytes", \.http2.processResponseBytes, 1_024...(1 << 40), "The same for all connections together."),
    .init(
      "http2.requestBytes", \.http2.requestBytes, 1_024...(1 << 40),
      "Bytes of requests in the making of one connection; twice what large requests may come to, and 1 MiB, at least."),
    .init(
      "http2.processRequestBytes", \.http2.processRequestBytes, 1_024...(1 << 40),
      "The same for all connections together; what large requests may come to, and 32 MiB for others, at least."),
    .init(
      "maximumHTTPBodyBytes", \.maximumHTTPBodyBytes, 1...(1 << 30), named: "httpBodyBytes",
      "Bytes of the largest body of a plain HTTP request."),
    .init(
      "largeRequestBytes", \.largeRequestBytes, 1_024...(1 << 40),
      "Bytes of requests above maxRequestBytes that are in the process at once; others wait. At least two of the largest."),
    .init(
      "largeBodyBytesPerSecond", \.largeBodyBytesPerSecond, 1...(1 << 30),
      "What has to come of such a body of plain HTTP on average, after the grace."),
    .init("largeBodyGrace", \.largeBodyGrace, seconds, "Time that such a body has at least."),
    .init(
      "maximumRunningHandlers", \.maximumRunningHandlers, 1...10_000_000, named: "runningHandlers",
      "Handlers that may run at once in the process."),
    .init(
      "maximumRunningHandlersPerConnection", \.maximumRunningHandlersPerConnection, 1...10_000_000,
      named: "runningHandlersPerConnection", "Handlers that may be suspended at once for one connection."),
    .init("accept.connections", \.accept.connections, 1...10_000_000, "Connections open at once."),
    .init(
      "accept.connectionsPerAddress", \.accept.connectionsPerAddress, 1...10_000_000, "Connections open from one address."),
    .init("minimumCompressedBytes", \.minimumCompressedBytes, 0...(1 << 30), "Bytes from which on responses are compressed."),
  ]

  private static var short: ClosedRange<Duration> { .milliseconds(10) ... .seconds(600) }
  /// What an honest client far away needs time for.
  private static var seconds: ClosedRange<Duration> { .seconds(1) ... .seconds(600) }
  private static var long: ClosedRange<Duration> { .seconds(1) ... .seconds(604_800) }
}

extension RPCServerConfiguration {
  /// The defaults, and every limit from its key.
  init(_ settings: Settings) {
    self.init()
    maximumRequestBytes = settings[StandardKeys.maxRequestBytes]
    maximumCallDuration = settings[StandardKeys.maxCallDuration]
    takeLimits(from: settings)
  }

  /// Takes every limit from its key.
  mutating func takeLimits(from settings: Settings) {
    for limit in StandardKeys.limits { limit.apply(settings, &self) }
  }
}
