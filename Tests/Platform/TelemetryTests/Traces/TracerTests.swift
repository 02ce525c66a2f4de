import JSON
import Logging
import MessagesCore
import RPC
import Telemetry
import Testing

@Suite("Spans")
struct TracerTests {
  private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"

  private func serve(
    _ tracer: Tracer, metadata: Metadata = [:], log: AccessLog? = nil, _ body: @escaping MethodRoute.Serve = { _ in }
  ) async throws {
    let interceptor = TelemetryInterceptor(services: [TestCall.service], metrics: nil, log: log, tracer: tracer)
    try await interceptor.intercept(TestCall(TestCall.service.methods[0], metadata: metadata), next: body)
  }

  @Test("A call is a span with the caller's trace, the method, the peer and the status")
  func serverSpan() async throws {
    let spans = SpanList()
    try await serve(Tracer(ratio: 0, sink: spans), metadata: ["traceparent": "\(Self.parent)-01", "tracestate": "a=b"])
    let span = try #require(spans.all.first)
    #expect(spans.all.count == 1 && span.name == "parley.testing.v1.EchoService/Echo" && span.kind == .server)
    #expect(span.context.traceID.description == "4bf92f3577b34da6a3ce929d0e0e4736" && span.context.state == "a=b")
    #expect(span.parent?.spanID.description == "00f067aa0ba902b7" && span.parent?.isRemote == true)
    #expect(span.context.spanID != span.parent?.spanID && span.end >= span.start && span.start > 1_700_000_000_000_000_000)
    #expect(
      span["rpc.system"] == "grpc" && span["rpc.service"] == "parley.testing.v1.EchoService" && span["rpc.method"] == "Echo")
    #expect(span["rpc.grpc.status_code"] == 0 && span["network.peer.address"] == "192.0.2.7" && span.failure == nil)
  }

  @Test("A caller's decision holds whatever the ratio", arguments: [(0.0, "01", 1), (1.0, "00", 0)])
  func parentDecides(_ ratio: Double, _ flags: String, _ count: Int) async throws {
    let spans = SpanList()
    try await serve(Tracer(ratio: ratio, sink: spans), metadata: ["traceparent": "\(Self.parent)-\(flags)"])
    #expect(spans.all.count == count)
  }

  @Test("Of traces that begin here so many are recorded as the ratio says")
  func ratio() async throws {
    for (ratio, expected) in [(0.0, 0...0), (1.0, 4_000...4_000), (0.25, 850...1_150)] {
      let spans = SpanList()
      let tracer = Tracer(ratio: ratio, sink: spans, seed: 7)
      for _ in 0..<4_000 { try await serve(tracer) }
      #expect(expected.contains(spans.all.count), "ratio \(ratio): \(spans.all.count)")
      #expect(Set(spans.all.map(\.context.traceID)).count == spans.all.count)
    }
  }

  @Test("Work within a call is its part; what is begun under that is a part of the part")
  func parts() async throws {
    let spans = SpanList()
    let tracer = Tracer(ratio: 1, sink: spans)
    try await serve(tracer) { _ in
      try await tracer.span("outer") { outer in
        outer.set("answer", 42)
        try #require(tracer.part("inner", .client)).end()
      }
    }
    let names = spans.all.map(\.name)
    #expect(names == ["inner", "outer", "parley.testing.v1.EchoService/Echo"])
    let (inner, outer, call) = (spans.all[0], spans.all[1], spans.all[2])
    #expect(inner.parent == outer.context && outer.parent == call.context && call.parent == nil)
    #expect(Set(spans.all.map(\.context.traceID)).count == 1 && outer["answer"] == 42 && inner.kind == .client)
  }

  @Test("What is not recorded keeps nothing and begins no parts, but has a name")
  func unrecorded() async throws {
    let spans = SpanList()
    let tracer = Tracer(ratio: 0, sink: spans)
    try await serve(tracer) { _ in
      let current = try #require(Span.current)
      current.set("a", "b")
      current.fail("no")
      #expect(!current.isRecorded && tracer.part("inner") == nil && !current.context.isSampled)
      #expect(tracer.outgoing == current.context)
    }
    #expect(spans.all.isEmpty)
  }

  @Test("Without a sink no span is made, and what a caller sent is passed on as it came")
  func passedOn() async throws {
    let tracer = Tracer(sink: nil)
    let call = TestCall(TestCall.service.methods[0], metadata: ["traceparent": "\(Self.parent)-01", "tracestate": "a=b"])
    let interceptor = TelemetryInterceptor(services: [], metrics: nil, log: nil, tracer: tracer)
    try await CallContext.$current.withValue(CallContext(call)) {
      try await interceptor.intercept(call) { _ in
        #expect(Span.current == nil && tracer.outgoing?.parent == "\(Self.parent)-01" && tracer.outgoing?.state == "a=b")
      }
    }
    #expect(tracer.outgoing == nil && !tracer.isActive)
  }

  @Test(
    "Of a server's failures only its own are errors of its span",
    arguments: [
      (StatusCode.internal, true), (.unavailable, true), (.deadlineExceeded, true), (.unimplemented, true), (.unknown, true),
      (.dataLoss, true), (.notFound, false), (.invalidArgument, false), (.unauthenticated, false), (.resourceExhausted, false),
    ])
  func failures(_ code: StatusCode, _ isFailure: Bool) async throws {
    let spans = SpanList()
    try? await serve(Tracer(ratio: 1, sink: spans)) { _ in throw RPCError(code, "it went wrong") }
    let span = try #require(spans.all.first)
    #expect(span.failure == (isFailure ? "it went wrong" : nil) && span["rpc.grpc.status_code"] == .int(Int64(code.rawValue)))
    #expect(span["error.type"] == (isFailure ? .string(code.name) : nil))
  }

  @Test("A secret in an attribute or in a failure is taken out")
  func secrets() async throws {
    let spans = SpanList()
    let tracer = Tracer(ratio: 1, sink: spans)
    try? await tracer.span("x") { span in
      span.set("note", "Bearer abcdefghijklmnop")
      throw RPCError(.internal, "token=abcdefghijklmnop")
    }
    let span = try #require(spans.all.first)
    #expect(span["note"] == "Bearer [redacted]" && span.failure?.contains("abcdef") == false)
  }

  @Test("A span keeps 64 attributes and 4 KiB of a text, and ends once")
  func limits() async throws {
    let spans = SpanList()
    let tracer = Tracer(ratio: 1, sink: spans)
    await tracer.span("x") { span in
      for index in 0..<66 { span.set("a\(index)", .int(Int64(index))) }
      span.set("a0", .string(String(repeating: "x", count: 4_097)))
      span.end()
      span.end()
    }
    #expect(spans.all.count == 1)
    let span = try #require(spans.all.first)
    #expect(span.attributes.count == 64 && span.droppedAttributes == 2)
    #expect(span["a0"] == .string(String(repeating: "x", count: 4_096)))
  }

  @Test("The lines of a call have its trace and span, the access log's too")
  func logged() async throws {
    let capture = Capture()
    let spans = SpanList()
    let tracer = Tracer(ratio: 1, sink: spans)
    try await serve(tracer, log: AccessLog(capture.sink)) { call in
      let fields = CallContext.$current.withValue(CallContext(call)) { RequestID.metadataProvider.get() }
      #expect(fields["trace_id"] == Span.current.map { .string($0.context.traceID.description) })
      #expect(fields["span_id"] == Span.current.map { .string($0.context.spanID.description) } && fields["request_id"] != nil)
    }
    let line = try #require(try capture.lines().first)
    let span = try #require(spans.all.first)
    #expect(line["trace_id"]?.string == span.context.traceID.description)
    #expect(line["span_id"]?.string == span.context.spanID.description)
  }
}
