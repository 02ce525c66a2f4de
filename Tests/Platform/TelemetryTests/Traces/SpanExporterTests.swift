import EventLoop
import MessagesCore
import RPC
import RPCClient
import RPCServer
import Synchronization
import Telemetry
import TestSupport
import Testing
import WellKnown

@Suite("Export of spans")
struct SpanExporterTests {
  /// A collector of ours: a real server of the OTLP service.
  final class Collector: OpenTelemetryProtoCollectorTraceV1.TraceService.Handlers {
    typealias Request = OpenTelemetryProtoCollectorTraceV1.ExportTraceServiceRequest
    typealias Response = OpenTelemetryProtoCollectorTraceV1.ExportTraceServiceResponse
    let requests = Mutex<[Request]>([])
    /// What the next requests are answered with, nil for success.
    let refusals: Mutex<[RPCError?]>
    let response: Response
    /// Told at each request.
    let told: @Sendable (Int) -> Void

    init(refusing refusals: [RPCError?] = [], _ response: Response = .init(), told: @escaping @Sendable (Int) -> Void = { _ in })
    {
      self.refusals = Mutex(refusals)
      self.response = response
      self.told = told
    }

    var spans: [OpenTelemetryProtoTraceV1.Span] {
      requests.withLock { $0.flatMap(\.resourceSpans).flatMap(\.scopeSpans).flatMap(\.spans) }
    }

    func export(_ request: Request, _ call: CallContext) async throws -> Response {
      let refusal = refusals.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      let count = requests.withLock { requests in
        if refusal == nil { requests.append(request) }
        return requests.count
      }
      told(count)
      if let refusal { throw refusal }
      return response
    }
  }

  struct Stage: Sendable {
    let group: EventLoopGroup
    let exporter: SpanExporter
    let tracer: Tracer
    let registry: PrometheusRegistry
  }

  /// A collector, an exporter to it and a tracer; `isThere` false: nobody listens at the address.
  private func withExporter(
    to collector: Collector, isThere: Bool = true, _ settings: SpanExporter.Settings = .init(),
    _ body: @escaping @Sendable (Stage) async throws -> Void
  ) async throws {
    try await onLoop { group in
      let server = RPCServer(
        on: group, services: [OpenTelemetryProtoCollectorTraceV1.TraceService.routes(collector)])
      let address = try server.listen(on: SocketAddress("127.0.0.1:0"))
      if !isThere { await server.drain(within: .zero) }
      let channel = ClientChannel(to: .host("127.0.0.1", port: try #require(address.port)), on: group)
      let registry = PrometheusRegistry()
      let exporter = SpanExporter(
        over: channel, resource: [("service.name", "test"), ("n", 1), ("d", .double(0.5)), ("b", true)], on: group.loops[0],
        registry: registry, settings: settings)
      let result: Result<Void, any Error>
      do {
        result = .success(
          try await body(Stage(group: group, exporter: exporter, tracer: Tracer(ratio: 1, sink: exporter), registry: registry)))
      } catch { result = .failure(error) }
      await exporter.shutDown(within: .milliseconds(1))
      await channel.close()
      await server.drain(within: .zero)
      try result.get()
    }
  }

  private var quick: SpanExporter.Settings {
    var settings = SpanExporter.Settings()
    settings.interval = .milliseconds(1)
    settings.firstPause = .milliseconds(1)
    return settings
  }

  @Test("A collector gets what was done, by the protocol's names and numbers")
  func exported() async throws {
    let collector = Collector()
    try await withExporter(to: collector) { stage in
      let remote = SpanContext(parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", state: "a=b")
      let span = stage.tracer.serve("Service/Method", remote: remote)
      span.set("text", "t")
      span.set("truth", true)
      span.fail("broken")
      span.end()
      await stage.exporter.shutDown(within: .seconds(10))
      #expect(stage.exporter.exportedSpans == 1 && stage.exporter.droppedSpans == 0)
      let text = String(decoding: stage.registry.exposition(), as: UTF8.self)
      #expect(text.contains("parley_trace_spans_exported_total 1\n") && text.contains("parley_trace_spans_dropped_total 0\n"))
    }
    let request = try #require(collector.requests.withLock { $0.first })
    let resource = try #require(request.resourceSpans.first?.resource)
    #expect(resource.attributes.map(\.key) == ["service.name", "n", "d", "b"])
    #expect(
      resource.attributes.map { $0.value?.value } == [.stringValue("test"), .intValue(1), .doubleValue(0.5), .boolValue(true)])
    let span = try #require(collector.spans.first)
    #expect(
      Array(span.traceID) == [0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36])
    #expect(Array(span.parentSpanID) == [0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7] && span.spanID.count == 8)
    #expect(span.traceState == "a=b" && span.name == "Service/Method" && span.kind == .server && span.flags == 0x301)
    #expect(span.status?.code == .error && span.status?.message == "broken")
    #expect(span.endTimeUnixNano >= span.startTimeUnixNano && span.startTimeUnixNano > 1_700_000_000_000_000_000)
    #expect(span.attributes.map(\.key) == ["text", "truth"])
  }

  @Test("Spans are sent without anybody asking, when they have waited long enough or a batch is full", arguments: [1, 7])
  func batches(_ count: Int) async throws {
    let arrived = Signal()
    let collector = Collector { _ in arrived.fire() }
    var settings = quick
    // A batch that is full does not wait for the hour.
    if count == 7 { (settings.interval, settings.batchLimit) = (.seconds(3_600), 7) }
    try await withExporter(to: collector, settings) { stage in
      for index in 0..<count { await stage.tracer.span("\(index)") { _ in } }
      try await arrived.wait()
      #expect(collector.spans.count == count)
    }
  }

  @Test("More than a batch goes in several requests, all of it")
  func manyBatches() async throws {
    let collector = Collector()
    var settings = quick
    settings.batchLimit = 10
    try await withExporter(to: collector, settings) { stage in
      for index in 0..<95 { await stage.tracer.span("\(index)") { _ in } }
      await stage.exporter.shutDown(within: .seconds(10))
    }
    #expect(collector.spans.count == 95 && Set(collector.spans.map(\.name)).count == 95)
    #expect(collector.requests.withLock { $0.count } >= 10)
  }

  @Test("What the collector may take later is sent again, and nothing twice")
  func retried() async throws {
    let arrived = Signal()
    let collector = Collector(
      refusing: [
        RPCError(.unavailable, "not now"), RPCError(.resourceExhausted, "slow down", details: [.retryInfo(.milliseconds(1))]),
      ]
    ) { if $0 == 1 { arrived.fire() } }
    try await withExporter(to: collector, quick) { stage in
      await stage.tracer.span("x") { _ in }
      try await arrived.wait()
      await stage.exporter.shutDown(within: .seconds(10))
      #expect(stage.exporter.exportedSpans == 1 && stage.exporter.droppedSpans == 0)
    }
    #expect(collector.spans.count == 1)
  }

  @Test(
    "What the collector will never take is given up and counted",
    arguments: [StatusCode.invalidArgument, .unauthenticated, .permissionDenied, .unimplemented, .resourceExhausted])
  func givenUp(_ code: StatusCode) async throws {
    // It would take it the second time.
    let collector = Collector(refusing: [RPCError(code, "no")])
    try await withExporter(to: collector, quick) { stage in
      await stage.tracer.span("x") { _ in }
      let deadline = MonotonicInstant.now().advanced(by: .seconds(10))
      while stage.exporter.droppedSpans + stage.exporter.exportedSpans == 0, MonotonicInstant.now() < deadline {
        await Task.yield()
      }
      #expect(stage.exporter.exportedSpans == 0 && stage.exporter.droppedSpans == 1)
    }
    #expect(collector.spans.isEmpty)
  }

  @Test("What a partial success refuses is counted and not sent again")
  func partial() async throws {
    let collector = Collector(.init(partialSuccess: .init(rejectedSpans: 2, errorMessage: "too old")))
    try await withExporter(to: collector) { stage in
      for _ in 0..<5 { await stage.tracer.span("x") { _ in } }
      await stage.exporter.shutDown(within: .seconds(10))
      #expect(stage.exporter.exportedSpans == 3 && stage.exporter.droppedSpans == 2)
    }
    #expect(collector.requests.withLock { $0.count } == 1)
  }

  @Test("Without a collector so many wait as may, the rest is left out and counted, and nobody is held up")
  func collectorIsAway() async throws {
    var settings = SpanExporter.Settings()
    settings.queueLimit = 10
    settings.interval = .seconds(3_600)
    try await withExporter(to: Collector(), isThere: false, settings) { stage in
      for _ in 0..<10 { await stage.tracer.span("x") { _ in } }
      #expect(stage.exporter.waitingSpans == 10 && stage.exporter.droppedSpans == 0)
      await stage.tracer.span("x") { _ in }
      #expect(stage.exporter.waitingSpans == 10 && stage.exporter.droppedSpans == 1)
      await stage.exporter.shutDown(within: .seconds(10))
      #expect(stage.exporter.exportedSpans == 0 && stage.exporter.droppedSpans == 11 && stage.exporter.waitingSpans == 0)
      await stage.tracer.span("late") { _ in }
      #expect(stage.exporter.droppedSpans == 12)
    }
  }

  @Test("A collector that never answers holds the way out no longer than it may")
  func silentCollector() async throws {
    try await onLoop { group in
      let server = RPCServer(
        on: group,
        services: [
          ServiceRoutes(
            OpenTelemetryProtoCollectorTraceV1.TraceService.descriptor,
            [
              .unary(OpenTelemetryProtoCollectorTraceV1.TraceService.Methods.export) { _, _ in
                try await group.loops[0].sleep(for: .seconds(3_600))
                return .init()
              }
            ])
        ])
      let address = try server.listen(on: SocketAddress("127.0.0.1:0"))
      let channel = ClientChannel(to: .host("127.0.0.1", port: try #require(address.port)), on: group)
      let exporter = SpanExporter(over: channel, resource: [], on: group.loops[0], registry: PrometheusRegistry())
      await Tracer(ratio: 1, sink: exporter).span("x") { _ in }
      await exporter.shutDown(within: .milliseconds(50))
      #expect(exporter.exportedSpans == 0 && exporter.droppedSpans == 1)
      await channel.close()
      await server.drain(within: .zero)
    }
  }
}
