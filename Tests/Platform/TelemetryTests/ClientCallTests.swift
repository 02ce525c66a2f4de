import EventLoop
import RPC
import RPCClient
import RPCServer
import Synchronization
import Telemetry
import TestAPI
import TestSupport
import Testing

@Suite("Telemetry of a channel's calls")
struct ClientCallTests {
  /// Fails the first so many calls, and keeps what came with each.
  private final class Server: Sendable {
    let seen = Mutex<[(parent: String?, state: String?)]>([])
    let failures: Int

    init(failures: Int) { self.failures = failures }

    /// Unary calls answer with the text, streams with numbers.
    var routes: ServiceRoutes {
      ServiceRoutes(
        EchoService.descriptor,
        [
          .unary(EchoService.Methods.echo) { [self] request, call in
            try arrived(call)
            return EchoResponse(text: request.text)
          },
          .serverStreaming(EchoService.Methods.count) { [self] request, writer, call in
            try arrived(call)
            for number in 0..<request.to { try await writer.write(CountResponse(number: number + 1)) }
          },
        ])
    }

    private func arrived(_ call: CallContext) throws {
      let count = seen.withLock { seen in
        seen.append((call.metadata["traceparent"], call.metadata["tracestate"]))
        return seen.count
      }
      if count <= failures { throw RPCError(.unavailable, "not yet") }
    }
  }

  private func with(
    _ server: Server, _ tracer: Tracer, _ registry: PrometheusRegistry,
    services: [ServiceDescriptor] = [EchoService.descriptor],
    _ body: @escaping @Sendable (EchoService.Client) async throws -> Void
  ) async throws {
    try await onLoop { group in
      let rpc = RPCServer(on: group, services: [server.routes])
      let address = try rpc.listen(on: SocketAddress("127.0.0.1:0"))
      var configuration = ClientChannelConfiguration()
      configuration.serviceConfig = try ServiceConfig(
        json: #"""
          {"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":4,"initialBackoff":"0.001s","maxBackoff":"0.001s",
          "backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]}
          """#)
      configuration.observer = ClientTelemetry(services: services, metrics: registry, tracer: tracer)
      let channel = ClientChannel(
        to: .host("127.0.0.1", port: try #require(address.port)), on: group, configuration: configuration)
      let result: Result<Void, any Error>
      do { result = .success(try await body(EchoService.Client(channel))) } catch { result = .failure(error) }
      await channel.close()
      await rpc.drain(within: .zero)
      try result.get()
    }
  }

  /// The value of the one line that begins so.
  private func value(_ prefix: String, _ registry: PrometheusRegistry) throws -> Int {
    let text = String(decoding: registry.exposition(), as: UTF8.self)
    try PrometheusText.check(text)
    let lines = text.split(separator: "\n").filter { $0.hasPrefix(prefix) }
    return lines.reduce(0) { $0 + (Int($1.split(separator: " ").last ?? "") ?? 0) }
  }

  @Test("Each attempt of a call is a span under the caller's, and takes its own place along")
  func attempts() async throws {
    let (server, spans, registry) = (Server(failures: 2), SpanList(), PrometheusRegistry())
    let tracer = Tracer(ratio: 1, sink: spans)
    try await with(server, tracer, registry) { client in
      let answer = try await tracer.span("work") { _ in try await client.echo(.init(text: "hi")) }
      #expect(answer.text == "hi")
    }
    let all = spans.all
    #expect(all.map(\.name) == Array(repeating: "parley.testing.v1.EchoService/Echo", count: 3) + ["work"])
    #expect(all.dropLast().allSatisfy { $0.parent == all[3].context && $0.kind == .client && $0["rpc.system"] == "grpc" })
    #expect(all.prefix(3).map { $0["rpc.grpc.status_code"] } == [14, 14, 0])
    #expect(all.prefix(3).map { $0["rpc.grpc.previous_attempts"] } == [nil, 1, 2])
    #expect(all.prefix(3).map(\.failure) == ["not yet", "not yet", nil] && all[0]["network.peer.address"] == "127.0.0.1")
    #expect(server.seen.withLock { $0.map(\.parent) } == all.prefix(3).map(\.context.parent))
  }

  @Test("Attempts and calls are counted apart, with the bytes of their messages")
  func counted() async throws {
    let (server, registry) = (Server(failures: 1), PrometheusRegistry())
    try await with(server, Tracer(sink: nil), registry) { client in
      _ = try await client.echo(.init(text: "hi"))
      _ = try await client.count(.init(to: 3)) { responses in
        var count = 0
        for try await _ in responses { count += 1 }
        #expect(count == 3)
      }
    }
    let echo = #"{grpc_method="parley.testing.v1.EchoService/Echo""#
    #expect(try value("grpc_client_attempt_started_total\(echo)", registry) == 2)
    #expect(try value("grpc_client_attempt_duration_seconds_count\(echo)", registry) == 2)
    #expect(try value("grpc_client_call_duration_seconds_count\(echo)", registry) == 1)
    // Field 1 with two letters: four bytes each way, and twice out.
    #expect(try value("grpc_client_attempt_sent_total_compressed_message_size_bytes_sum\(echo)", registry) == 8)
    #expect(try value("grpc_client_attempt_rcvd_total_compressed_message_size_bytes_sum\(echo)", registry) == 4)
    let stream = #"{grpc_method="parley.testing.v1.EchoService/Count""#
    #expect(try value("grpc_client_attempt_started_total\(stream)", registry) == 1)
    #expect(try value("grpc_client_call_duration_seconds_count\(stream)", registry) == 1)
    #expect(try value("grpc_client_attempt_sent_total_compressed_message_size_bytes_sum\(stream)", registry) == 2)
    #expect(try value("grpc_client_attempt_rcvd_total_compressed_message_size_bytes_sum\(stream)", registry) == 6)
  }

  @Test("A stream that is left before its end counts as cancelled, a method that nobody named as other")
  func left() async throws {
    let registry = PrometheusRegistry()
    try await with(Server(failures: 0), Tracer(sink: nil), registry, services: []) { client in
      _ = try await client.count(.init(to: 3)) { responses in
        var responses = responses
        _ = try await responses.next()
      }
    }
    #expect(try value(#"grpc_client_attempt_started_total{grpc_method="other""#, registry) == 1)
    #expect(try value("grpc_client_call_duration_seconds_count", registry) == 1)
  }

  @Test("A call that gets no connection is counted without an attempt")
  func noConnection() async throws {
    let registry = PrometheusRegistry()
    try await onLoop { group in
      let rpc = RPCServer(on: group, services: [])
      let address = try rpc.listen(on: SocketAddress("127.0.0.1:0"))
      await rpc.drain(within: .zero)
      var configuration = ClientChannelConfiguration()
      configuration.observer = ClientTelemetry(services: [EchoService.descriptor], metrics: registry, tracer: nil)
      let channel = ClientChannel(
        to: .host("127.0.0.1", port: try #require(address.port)), on: group, configuration: configuration)
      await #expect(throws: RPCError.self) { try await EchoService.Client(channel).echo(.init()) }
      await channel.close()
    }
    #expect(try value("grpc_client_attempt_started_total", registry) == 0)
    #expect(try value("grpc_client_call_duration_seconds_count", registry) == 1)
  }

  @Test("Where nothing is recorded, what the caller sent goes along as it came")
  func passedOn() async throws {
    let (server, parent) = (Server(failures: 0), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    try await with(server, Tracer(sink: nil), PrometheusRegistry()) { client in
      let call = TestCall(TestCall.service.methods[0], metadata: ["traceparent": parent, "tracestate": "a=b"])
      try await CallContext.$current.withValue(CallContext(call)) { _ = try await client.echo(.init(text: "hi")) }
      _ = try await client.echo(.init(text: "hi"))
    }
    let seen = server.seen.withLock { $0 }
    #expect(seen.map(\.parent) == [parent, nil] && seen.map(\.state) == ["a=b", nil])
  }
}
