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
      let before = registry.exposition().count
      let service = "/parley.testing.v1.EchoService/"
      var stream: UInt32 = 3
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
      let after = registry.exposition().count
      // Numbers may have grown by a digit or two; no line was added.
      #expect(after - before < 64)
      try await peer.probe(stream)
      peer.close()
    }
  }
}
