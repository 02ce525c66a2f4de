import EventLoop
import HTTP2
import RPCServer
import Telemetry
import TestAPI
import TestSupport
import Testing

/// Paths that would like to become labels.
@Suite("Hostile: labels")
struct CardinalityTests {
  @Test("Hostile 25: paths that nobody registered, of 4 KB, or written otherwise, make no series of metrics")
  func paths() async throws {
    let registry = PrometheusRegistry()
    let handlers = EchoHandlers()
    let interceptor = TelemetryInterceptor(services: [EchoService.descriptor], metrics: registry, log: nil)
    try await EchoServer.run(handlers: handlers, interceptors: [interceptor]) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      try await peer.probe(1)
      // All of them are counted under one label, which the first one makes.
      peer.send(.headers(3, HTTP2Peer.httpHeaders("POST", "/any", [("content-type", "application/grpc")]), ends: true))
      #expect(try await peer.response(3).status == 12)
      let before = registry.exposition().count { $0 == 0x0a }
      let service = "/parley.testing.v1.EchoService/"
      var stream: UInt32 = 5
      for number in 0..<500 {
        let long = String(repeating: "a", count: number == 0 ? 4_096 : number)
        for path in [
          service + long, service + "Echo%2e", service + "%45cho", "/parley.testing.v1.EchoService%2fEcho",
          service + "Echo/\(number)",
          "/" + long, service + "../EchoService/Echo", service + "echo",
        ] {
          peer.send(
            .headers(
              stream,
              HPACK.block([
                (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "test"), ("te", "trailers"),
                ("content-type", "application/grpc"),
              ])), .data(stream, HTTP2Peer.message([]), ends: true))
          stream += 2
        }
        let response = try await peer.response(stream - 2)
        #expect(response.status == 12)
      }
      // Numbers have grown; no line was added.
      #expect(registry.exposition().count { $0 == 0x0a } == before)
      let text = String(decoding: registry.exposition(), as: UTF8.self)
      #expect(text.contains(#"grpc_server_call_started_total{grpc_method="other"} 4001"#))
      try await peer.probe(stream)
      peer.close()
    }
  }
}
