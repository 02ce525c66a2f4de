import EventLoop
import JSON
import Logging
import MessagesCore
import RPC
import Synchronization
import Telemetry
import Testing

@Suite("Telemetry of calls")
struct CallTests {
  @Test("A call is counted by method and status, and logged in one line")
  func counted() async throws {
    let capture = Capture()
    let registry = PrometheusRegistry()
    let service = TestCall.service
    let interceptor = TelemetryInterceptor(services: [service], metrics: registry, log: AccessLog(capture.sink))
    let call = TestCall(service.methods[0], metadata: ["x-request-id": "abc-1"])
    try await interceptor.intercept(call) { _ in }
    await #expect(throws: RPCError.self) {
      try await interceptor.intercept(TestCall(service.methods[1])) { _ in throw RPCError(.notFound, "no") }
    }
    let text = String(decoding: registry.exposition(), as: UTF8.self)
    try PrometheusText.check(text)
    #expect(text.contains(#"grpc_server_call_started_total{grpc_method="parley.testing.v1.EchoService/Echo"} 1"#))
    #expect(
      text.contains(
        #"grpc_server_call_duration_seconds_count{grpc_method="parley.testing.v1.EchoService/Echo",grpc_status="OK"} 1"#))
    #expect(
      text.contains(
        #"grpc_server_call_duration_seconds_count{grpc_method="parley.testing.v1.EchoService/EchoTree",grpc_status="NOT_FOUND"} 1"#
      ))
    #expect(
      text.contains(
        #"grpc_server_call_rcvd_total_compressed_message_size_bytes_sum{grpc_method="parley.testing.v1.EchoService/Echo",grpc_status="OK"} 100"#
      ))
    let lines = try capture.lines()
    #expect(lines.map { $0["status"]?.string } == ["OK", "NOT_FOUND"])
    #expect(lines[0]["method"]?.string == "/parley.testing.v1.EchoService/Echo" && lines[0]["request_id"]?.string == "abc-1")
    #expect(
      lines[0]["level"]?.string == "info" && lines[0]["peer"]?.string == "192.0.2.7" && lines[0]["duration_ms"]?.number != nil)
    #expect(lines[1]["request_id"] == nil)
  }

  @Test("A call that no handler sees is counted and logged like any other, with a tracer or without", arguments: [true, false])
  func refused(_ traces: Bool) async throws {
    let (capture, registry) = (Capture(), PrometheusRegistry())
    let tracer = traces ? Tracer(ratio: 1, sink: SpanList()) : nil
    let interceptor = TelemetryInterceptor(
      services: [TestCall.service], metrics: registry, log: AccessLog(capture.sink), tracer: tracer)
    let observer = try #require(interceptor.refusalObserver)
    let now = MonotonicInstant.now().nanoseconds
    observer.callRefused(TestCall(TestCall.service.methods[0]), since: now, RPCError(.resourceExhausted, "too large"))
    let text = String(decoding: registry.exposition(), as: UTF8.self)
    #expect(text.contains(#"grpc_server_call_started_total{grpc_method="parley.testing.v1.EchoService/Echo"} 1"#))
    let status = #"{grpc_method="parley.testing.v1.EchoService/Echo",grpc_status="RESOURCE_EXHAUSTED"} 1"#
    #expect(text.contains("grpc_server_call_duration_seconds_count" + status))
    #expect(try capture.lines().map { $0["status"]?.string } == ["RESOURCE_EXHAUSTED"])
  }

  @Test("A method that is not registered has no label of its own")
  func unregistered() async throws {
    let registry = PrometheusRegistry()
    let interceptor = TelemetryInterceptor(services: [], metrics: registry, log: nil)
    for _ in 0..<3 { try await interceptor.intercept(TestCall(TestCall.service.methods[0])) { _ in } }
    let text = String(decoding: registry.exposition(), as: UTF8.self)
    #expect(text.contains(#"grpc_server_call_started_total{grpc_method="other"} 3"#) && !text.contains("parley.testing"))
  }

  @Test("Cancellation, lateness and unexpected errors have the status that the caller sees")
  func statuses() async throws {
    struct Odd: Error {}
    let capture = Capture()
    let interceptor = TelemetryInterceptor(services: [TestCall.service], metrics: nil, log: AccessLog(capture.sink))
    let method = TestCall.service.methods[0]
    try? await interceptor.intercept(TestCall(method)) { _ in throw CancellationError() }
    try? await interceptor.intercept(TestCall(method)) { _ in throw Odd() }
    try? await interceptor.intercept(TestCall(method, deadline: .after(.zero))) { _ in throw CancellationError() }
    #expect(try capture.lines().map { $0["status"]?.string } == ["CANCELLED", "INTERNAL", "DEADLINE_EXCEEDED"])
  }

  @Test("Of calls that end OK a sample is written, of all others each")
  func sampled() async throws {
    let capture = Capture()
    let log = AccessLog(capture.sink, oneInOK: 1_000_000_000)
    let interceptor = TelemetryInterceptor(services: [TestCall.service], metrics: nil, log: log)
    for _ in 0..<20 { try await interceptor.intercept(TestCall(TestCall.service.methods[0])) { _ in } }
    try? await interceptor.intercept(TestCall(TestCall.service.methods[0])) { _ in throw RPCError(.internal, "x") }
    #expect(try capture.lines().map { $0["status"]?.string } == ["INTERNAL"])
    #expect(AccessLog(capture.sink, level: .notice) == nil)
  }

  @Test(
    "What a call's handlers note is in its line, without secrets; a failure that an operator must look at is an error (PF-14)")
  func notes() async throws {
    let capture = Capture()
    let interceptor = TelemetryInterceptor(services: [TestCall.service], metrics: nil, log: AccessLog(capture.sink))
    let method = TestCall.service.methods[0]
    try await interceptor.intercept(TestCall(method)) { call in
      var notes = CallNotes()
      notes.add("outcome", "OK")
      notes.add("client", "a \"quote\"\n")
      notes.add("detail", "ya29.planted-token")
      notes.add("capability", nil)
      call[CallNotes.Key.self] = notes
    }
    try? await interceptor.intercept(TestCall(method)) { call in
      var notes = CallNotes()
      notes.needsAttention = true
      call[CallNotes.Key.self] = notes
      throw RPCError(.unavailable, "x")
    }
    let lines = try capture.lines()
    #expect(lines.count == 2)
    #expect(lines[0]["level"]?.string == "info" && lines[0]["outcome"]?.string == "OK")
    #expect(lines[0]["client"]?.string == "a \"quote\"\n" && lines[0]["detail"]?.string == Redactor.mark)
    #expect(lines[0]["capability"] == nil)
    #expect(lines[1]["level"]?.string == "error" && lines[1]["status"]?.string == "UNAVAILABLE")
  }

  @Test(
    "B-24: a token in the place of a request id reaches no log",
    arguments: ["eyJhbGciOiJSUzI1NiIsInR5.x.y", "ya29.abc", "a b", "\"},{", ""])
  func hostileRequestID(_ id: String) async throws {
    let capture = Capture()
    let interceptor = TelemetryInterceptor(services: [TestCall.service], metrics: nil, log: AccessLog(capture.sink))
    let call = TestCall(TestCall.service.methods[0], metadata: ["x-request-id": id])
    try await interceptor.intercept(call) { _ in }
    let line = try capture.lines()[0]
    #expect(line["request_id"]?.string == nil || line["request_id"]?.string == "[redacted]")
  }

  @Test("Request and trace id are in every line of a call, and the same in all")
  func provider() async throws {
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    let call = TestCall(TestCall.service.methods[0], metadata: ["traceparent": "00-\(trace)-00f067aa0ba902b7-01"])
    let (one, two) = CallContext.$current.withValue(CallContext(call)) {
      (RequestID.metadataProvider.get(), RequestID.metadataProvider.get())
    }
    #expect(one == two && one["trace_id"] == .string(trace) && one["request_id"] != nil)
    #expect(RequestID.metadataProvider.get().isEmpty)
  }
}
