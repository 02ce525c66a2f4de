import DemoService
import EventLoop
import Logging
import PostgreSQL
import RPC
import RPCClient
import RPCServer
import Synchronization
import Telemetry
import TestAPI
import Testing
import WellKnown

@testable import Outbound
@testable import ServiceKit

@Suite("Traces of a service")
struct TracingTests {
  private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  static func start(_ environment: [String: String] = [:], spans: (any SpanSink)? = nil) async throws -> ServiceInstance {
    let settings = try Settings(
      service: "demo", keys: DemoService.keys, flags: ["loops": "1", "listen": "127.0.0.1:0"], environment: environment)
    return try await ServiceInstance.start(
      DemoService.self, settings: settings, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
      telemetry: ServiceTelemetry(spans: spans))
  }

  @Test("A call carries on its caller's trace, and a refused one is a span too")
  func calls() async throws {
    let spans = SpanList()
    let instance = try await Self.start(["PARLEY_DEMO_TRACE_RATIO": "0"], spans: spans)
    try await InstanceTests.with(instance) { channel in
      let client = EchoService.Client(channel)
      _ = try await client.echo(.init(text: "hi"), options: .init(metadata: ["traceparent": Self.parent]))
      _ = try await client.echo(.init(text: "nobody asked for a trace"))
      _ = try? await client.guarded(.init(), options: .init(metadata: ["traceparent": Self.parent]))
    }
    #expect(spans.all.map(\.name) == ["Echo", "Guarded"].map { "parley.testing.v1.EchoService/\($0)" })
    #expect(spans.all.allSatisfy { $0.parent?.spanID.description == "00f067aa0ba902b7" })
    #expect(spans.all.map { $0["rpc.grpc.status_code"] } == [0, 16] && spans.all.allSatisfy { $0.failure == nil })
  }

  /// A collector of ours.
  private final class Collector: OpenTelemetryProtoCollectorTraceV1.TraceService.Handlers {
    let requests = Mutex<[OpenTelemetryProtoCollectorTraceV1.ExportTraceServiceRequest]>([])

    func export(
      _ request: OpenTelemetryProtoCollectorTraceV1.ExportTraceServiceRequest, _ call: CallContext
    ) async throws -> OpenTelemetryProtoCollectorTraceV1.ExportTraceServiceResponse {
      requests.withLock { $0.append(request) }
      return .init()
    }
  }

  @Test("A service that stops hands its last spans to its collector, with its name on them")
  func collected() async throws {
    let collector = Collector()
    let group = try EventLoopGroup(count: 1, name: "collector")
    let server = RPCServer(on: group, services: [OpenTelemetryProtoCollectorTraceV1.TraceService.routes(collector)])
    let address = try server.listen(on: SocketAddress("127.0.0.1:0"))
    let instance = try await Self.start([
      "PARLEY_DEMO_TRACE_ENDPOINT": "http://\(address)", "PARLEY_DEMO_TRACE_RATIO": "1",
    ])
    try await InstanceTests.with(instance) { channel in _ = try await EchoService.Client(channel).echo(.init(text: "hi")) }
    await server.drain(within: .zero)
    try await DemoProcess.pool.run { group.shutDown() }
    let all = collector.requests.withLock { $0 }.flatMap(\.resourceSpans)
    let resource = try #require(all.first?.resource)
    #expect(resource.attributes.first { $0.key == "service.name" }?.value?.value == .stringValue("parley-demo"))
    let spans = all.flatMap(\.scopeSpans).flatMap(\.spans)
    #expect(spans.map(\.name) == ["parley.testing.v1.EchoService/Echo"])
  }

  @Test("A plain HTTP request is a span with its route")
  func http() async throws {
    let spans = SpanList()
    let log = HTTPAccessLog(
      Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, PrometheusRegistry(), label: "/hello/{name}",
      proxies: TrustedProxies([]), tracer: Tracer(ratio: 0, sink: spans))
    let request = HTTPServerRequest.forTest(
      method: "GET", path: "/hello/ana", headers: [("traceparent", Self.parent), ("tracestate", "a=b")])
    _ = try await log.handle(request) { _ in
      #expect(HTTPRequestID.metadataProvider.get()["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736")
      return .text(503, "no")
    }
    let span = try #require(spans.all.first)
    #expect(span.name == "GET /hello/{name}" && span.kind == .server && span.context.state == "a=b")
    #expect(span["http.route"] == "/hello/{name}" && span["http.response.status_code"] == 503 && span.failure == "status 503")
  }

  @Test("Statements run for a recorded call are a span with their text and without parameters")
  func statements() async throws {
    let spans = SpanList()
    let tracer = Tracer(ratio: 1, sink: spans)
    let observer = StatementSpans(
      tracer: tracer, configuration: DatabaseConfiguration(host: "db.example.com", database: "parley", user: "u"))
    let secret = "hunter2"
    #expect(observer.statementsBegin(["select 1"]) == nil)
    try await tracer.span("call") { _ in
      let one = try #require(observer.statementsBegin(["select id from notes.note where title = \(secret)"]))
      one.statementsEnd(nil)
      let two = try #require(observer.statementsBegin(["insert into a values (\(secret))", "delete from b"]))
      two.statementsEnd(DatabaseError(.connectionLost, "gone"))
    }
    #expect(spans.all.map(\.name) == ["SELECT", "INSERT", "call"])
    let (select, insert) = (spans.all[0], spans.all[1])
    #expect(select["db.query.text"] == "select id from notes.note where title = $1" && select["db.system.name"] == "postgresql")
    #expect(select["db.namespace"] == "parley" && select["server.address"] == "db.example.com" && select.kind == .client)
    #expect(insert["db.operation.batch.size"] == 2 && insert.failure == "gone" && select.failure == nil)
    #expect(!spans.all.contains { "\($0.attributes)".contains(secret) })
    await Tracer(ratio: 0, sink: spans).span("unrecorded") { _ in #expect(observer.statementsBegin(["select 1"]) == nil) }
  }

  @Test("An outgoing request is a span and a metric per attempt, and takes the trace along")
  func outbound() async throws {
    let (spans, registry) = (SpanList(), PrometheusRegistry())
    let tracer = Tracer(ratio: 1, sink: spans)
    let group = try EventLoopGroup(count: 1, name: "outbound")
    let listener = try LoopbackListener(on: SocketAddress("127.0.0.1:0"), group: group, routes: ["/a": { _ in .init("ok") }])
    listener.start()
    let observer = OutboundTelemetry(tracer: tracer, registry: registry)
    let client = try HTTPClient(loops: group.loops, observer: observer)
    let url = "http://\(listener.address)"
    let result = await Result {
      try await tracer.span("call") { span in
        _ = try await client.send(.init(.get, "\(url)/a?token=secret"))
        _ = try await client.send(.init(.get, "\(url)/missing"))
        var headers: HTTPHeaders = ["traceparent": "stale"]
        let attempt = OutboundAttempt(.get, try TargetURL("\(url)/b", plainHTTP: .anywhere), number: 2)
        let observation = observer.attemptBegins(attempt, headers: &headers)
        #expect(observation != nil)
        #expect(headers.all("traceparent").count == 1 && headers["traceparent"]?.contains("\(span.context.traceID)") == true)
        #expect(headers["traceparent"]?.contains("\(span.context.spanID)") == false)
      }
    }
    await client.shutDown()
    listener.close()
    try await DemoProcess.pool.run { group.shutDown() }
    try result.get()
    #expect(spans.all.map(\.name) == ["GET", "GET", "call"])
    #expect(spans.all[0]["url.full"] == .string("\(url)/a") && spans.all[0]["http.response.status_code"] == 200)
    #expect(spans.all[1].failure == "status 404" && spans.all[0].failure == nil)
    let text = String(decoding: registry.exposition(), as: UTF8.self)
    #expect(
      text.contains(
        #"http_client_request_duration_seconds_count{http_request_method="GET",server_address="\#(url)",status="200"} 1"#))
  }
}
