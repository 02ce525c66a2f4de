internal import EventLoop
internal import Glibc
internal import HTTP2
internal import Logging
internal import RPCClient
internal import Telemetry

/// The tracer of a process and, where there is a collector, the way to it.
struct ServiceTracing: Sendable {
  let tracer: Tracer
  private let exporter: SpanExporter?
  private let channel: ClientChannel?

  /// How long the way out may take for the last spans.
  private static let flushLimit = Duration.seconds(3)

  init<S: Service>(
    _ service: S.Type, _ settings: Settings, _ loops: EventLoopGroup, _ log: Logger, _ telemetry: ServiceTelemetry
  ) throws {
    guard let endpoint = settings[StandardKeys.traceEndpoint] else {
      // Tests take spans themselves; a process without a collector passes on what callers send.
      tracer = Tracer(ratio: settings[StandardKeys.traceRatio], sink: telemetry.spans)
      exporter = nil
      channel = nil
      return
    }
    var configuration = ClientChannelConfiguration()
    configuration.userAgent = "\(S.program)/\(ServiceVersion.number)"
    if endpoint.isSecure { configuration.tls = try Self.tls(settings) }
    let channel = ClientChannel(to: endpoint.target, on: loops, configuration: configuration)
    let exporter = SpanExporter(
      over: channel, resource: Self.resource(S.program), on: loops.loops[0], registry: telemetry.registry, log: log)
    telemetry.registry.gauge("parley_trace_spans_waiting", help: "Spans that wait to be exported.") {
      Double(exporter.waitingSpans)
    }
    tracer = Tracer(ratio: settings[StandardKeys.traceRatio], sink: exporter)
    self.exporter = exporter
    self.channel = channel
  }

  /// Sends the last spans. Before the loops end.
  func shutDown() async {
    await exporter?.shutDown(within: Self.flushLimit)
    await channel?.close()
  }

  private static func tls(_ settings: Settings) throws(ServiceFailure) -> TLSContext {
    let roots = settings[StandardKeys.outboundCAFile].map { TLSConfiguration.TrustRoots.certificates(.file($0.path)) }
    do { return try TLSContext(.client(trustRoots: roots ?? .system)) } catch {
      throw ServiceFailure(.configuration, "trace.endpoint: the roots to trust cannot be used: \(error.message)")
    }
  }

  /// OpenTelemetry's conventions for a process of a service.
  private static func resource(_ program: String) -> [(name: String, value: SpanAttribute)] {
    let instance = String(UInt64.random(in: .min ... .max), radix: 16)
    return [
      ("service.name", .string(program)), ("service.version", .string(ServiceVersion.number)),
      ("service.instance.id", .string(instance)), ("host.name", .string(hostName)), ("process.pid", .int(Int64(getpid()))),
      ("telemetry.sdk.name", "parley"), ("telemetry.sdk.language", "swift"),
      ("telemetry.sdk.version", .string(ServiceVersion.number)),
    ]
  }

  private static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
