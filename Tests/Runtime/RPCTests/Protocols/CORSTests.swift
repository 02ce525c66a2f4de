import EventLoop
import HTTP2
import RPC
import RPCServer
import TestSupport
import Testing

@Suite("Pages of other origins")
struct CORSTests {
  private static let page = ("origin", "https://app.example.com")

  private static func allowing(_ origins: CORSPolicy.Origins?) -> RPCServerConfiguration {
    var configuration = RPCServerConfiguration()
    configuration.cors = origins.map { CORSPolicy($0) }
    return configuration
  }

  private static func preflight(_ peer: HTTP2Peer, _ stream: UInt32, _ method: String, _ headers: [(String, String)]) async throws
    -> HTTP2Peer.Exchange
  {
    peer.send(.headers(stream, HTTP2Peer.httpHeaders("OPTIONS", ProtocolPeer.service + method, headers), ends: true))
    return try await peer.response(stream)
  }

  @Test("A preflight of an RPC path is answered with what may be sent")
  func preflight() async throws {
    try await ProtocolPeer.run(Self.allowing(.any)) { peer, _ in
      let response = try await Self.preflight(
        peer, 1, "Echo",
        [
          Self.page, ("access-control-request-method", "POST"),
          ("access-control-request-headers", "content-type,connect-protocol-version, X-Custom ,bad header"),
        ])
      #expect(response.value(":status") == "204" && response.body.isEmpty)
      #expect(response.value("access-control-allow-origin") == "*")
      #expect(response.value("access-control-allow-methods") == "GET, POST, OPTIONS")
      let allowed = response.value("access-control-allow-headers")?.split(separator: ", ").map(String.init) ?? []
      for name in ["authorization", "connect-timeout-ms", "grpc-timeout", "x-grpc-web", "x-custom"] {
        #expect(allowed.contains(name), "\(name)")
      }
      #expect(!allowed.contains("bad header"))
      #expect(response.value("access-control-max-age") == "7200")
      #expect(response.value("vary")?.contains("Origin") == true)
    }
  }

  @Test("Headers may be restricted to a list, and the age set")
  func restricted() async throws {
    var configuration = RPCServerConfiguration()
    configuration.cors = CORSPolicy(.any, requestHeaders: ["x-one"], exposedHeaders: ["x-seen"], maximumAge: .seconds(60))
    try await ProtocolPeer.run(configuration) { peer, _ in
      let response = try await Self.preflight(
        peer, 1, "Chat",
        [Self.page, ("access-control-request-method", "POST"), ("access-control-request-headers", "x-one,x-two")])
      let allowed = response.value("access-control-allow-headers")?.split(separator: ", ").map(String.init) ?? []
      #expect(allowed.contains("x-one") && !allowed.contains("x-two"))
      #expect(response.value("access-control-max-age") == "60")
      let call = try await peer.answer(3, "Echo", "application/json", Array("{}".utf8), [Self.page])
      #expect(call.value("access-control-expose-headers")?.contains("x-seen") == true)
    }
  }

  @Test("Nobody is allowed unless configured, and an origin that is not on the list gets nothing")
  func refused() async throws {
    let asking = [Self.page, ("access-control-request-method", "POST")]
    try await ProtocolPeer.run { peer, _ in
      let response = try await Self.preflight(peer, 1, "Echo", asking)
      #expect(response.value(":status") == "405" && response.value("access-control-allow-origin") == nil)
      let call = try await peer.answer(3, "Echo", "application/json", Array("{}".utf8), [Self.page])
      #expect(call.value("access-control-allow-origin") == nil && call.value("vary") == nil)
    }
    for origins in [CORSPolicy.Origins.list(["https://a.example", "https://b.example"]), .list([])] {
      try await ProtocolPeer.run(Self.allowing(origins)) { peer, _ in
        let response = try await Self.preflight(peer, 1, "Echo", asking)
        #expect(response.value(":status") == "204" && response.value("access-control-allow-origin") == nil)
        #expect(response.value("access-control-allow-headers") == nil)
        let call = try await peer.answer(3, "Echo", "application/json", Array("{}".utf8), [Self.page])
        #expect(call.value(":status") == "200" && call.value("access-control-allow-origin") == nil)
        #expect(call.value("vary") == "Origin")
      }
    }
  }

  @Test("Of several origins the one that asks is named")
  func named() async throws {
    try await ProtocolPeer.run(Self.allowing(.list(["https://a.example", "https://app.example.com"]))) { peer, _ in
      let call = try await peer.answer(1, "Echo", "application/json", Array("{}".utf8), [Self.page])
      #expect(call.value("access-control-allow-origin") == "https://app.example.com" && call.value("vary") == "Origin")
    }
  }

  @Test(
    "Every answer can be read: what the protocols and the metadata put into headers is exposed",
    arguments: ["application/json", "application/connect+json", "application/grpc-web+json", "application/grpc"])
  func exposed(_ type: String) async throws {
    let both = BeforeCall { call in
      call.initialMetadata["x-first"] = "1"
      call.trailingMetadata["x-last"] = "2"
    }
    try await ProtocolPeer.run(Self.allowing(.any), interceptors: [both]) { peer, _ in
      let isStream = type.contains("connect")
      let message = type.hasSuffix("json") ? Array("{}".utf8) : []
      let body = type == "application/json" ? message : HTTP2Peer.message(message)
      let call = try await peer.answer(1, isStream ? "Count" : "Echo", type, body, [Self.page])
      #expect(call.value(":status") == "200" && call.value("access-control-allow-origin") == "*")
      let exposed = call.value("access-control-expose-headers")?.split(separator: ", ").map(String.init) ?? []
      #expect(exposed.contains("grpc-status") && exposed.contains("grpc-status-details-bin") && exposed.contains("x-first"))
      #expect(exposed.contains("trailer-x-last") == (type == "application/json"))
      let failed = try await peer.answer(
        3, isStream ? "Count" : "Fail", type, type == "application/json" ? Array(#"{"code":5}"#.utf8) : HTTP2Peer.message([1]),
        [Self.page])
      #expect(failed.value("access-control-allow-origin") == "*")
      // Who is no page gets nothing of it.
      let plain = try await peer.answer(5, isStream ? "Count" : "Echo", type, body)
      #expect(plain.value("access-control-allow-origin") == nil)
    }
  }

  @Test("What the server refuses by itself can be read too")
  func refusals() async throws {
    var configuration = Self.allowing(.any)
    configuration.maximumHTTPBodyBytes = 10
    configuration.http2.headerListBytes = 2_000
    let routes = [HTTPRoute("/body") { _ in .text(200, "x") }]
    try await ProtocolPeer.run(configuration, http: routes) { peer, _ in
      let type = try await peer.answer(1, "Echo", "image/png", [1], [Self.page])
      peer.send(.headers(3, HTTP2Peer.httpHeaders("PUT", ProtocolPeer.service + "Echo", [Self.page]), ends: true))
      let method = try await peer.response(3)
      let path = try await peer.answer(5, "Nothing", "text/plain", [1], [Self.page])
      let long = try await peer.answer(
        7, "Nothing", "text/plain", [1], [Self.page, ("x-long", String(repeating: "x", count: 2_000))])
      peer.send(.headers(9, HTTP2Peer.httpHeaders("POST", "/body", [Self.page])))
      peer.sendBody(9, [UInt8](repeating: 1, count: 11))
      let body = try await peer.response(9)
      for (response, status) in [(type, "415"), (method, "405"), (path, "404"), (long, "431"), (body, "413")] {
        #expect(response.value(":status") == status)
        #expect(response.value("access-control-allow-origin") == "*", "\(status)")
      }
    }
  }
}
