import EventLoop
import HTTP2
import JSON
import RPC
import RPCServer
import Synchronization
import TestSupport
import Testing

@Suite("Plain HTTP routes")
struct HTTPRouteTests {
  struct Broken: Error {}

  static let routes = [
    HTTPRoute("/hello") { request in
      .text(
        200, "\(request.method) \(request.path) name=\(request.queryValue("name") ?? "nobody")\n",
        headers: [("x-peer", request.peer.address)])
    },
    HTTPRoute("/body") { request in .init(200, body: request.body) },
    HTTPRoute("/broken") { _ in throw Broken() },
    HTTPRoute("/nothing") { _ in .init(204) },
  ]

  private func peer(
    limit: Int = 1 << 20, fallback: HTTPRoute.Handler? = nil,
    _ body: @escaping @Sendable (HTTP2Peer, EchoServer) async throws -> Void
  ) async throws {
    var configuration = RPCServerConfiguration()
    configuration.maximumHTTPBodyBytes = limit
    try await EchoServer.run(http: Self.routes, fallback: fallback, configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      try await body(peer, server)
      peer.close()
    }
  }

  private static func text(_ exchange: HTTP2Peer.Exchange) -> String { String(decoding: exchange.body, as: UTF8.self) }

  @Test(
    "GET, OPTIONS and POST reach the handler; HEAD gets the headers alone",
    arguments: ["GET", "OPTIONS", "POST", "HEAD", "DELETE"])
  func methods(_ method: String) async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.httpHeaders(method, "/hello"), ends: true))
      let response = try await peer.response(1)
      let text = "\(method) /hello name=nobody\n"
      #expect(response.value(":status") == "200")
      #expect(response.value("content-length") == "\(text.utf8.count)")
      #expect(response.value("x-peer") == "127.0.0.1")
      #expect(Self.text(response) == (method == "HEAD" ? "" : text))
    }
  }

  @Test(
    "A query is decoded, and the first value counts",
    arguments: [
      ("name=ana", "ana"), ("x=1&name=a%20b", "a b"), ("name=a+b", "a b"), ("name=%C3%BC", "ü"), ("name=", ""), ("name", ""),
      ("n%61me=x", "x"), ("name=1&name=2", "1"), ("name=%", "%"), ("name=%zz", "%zz"), ("other=1", "nobody"), ("", "nobody"),
      ("name=a=b", "a=b"), ("&&name=x", "x"), ("name=a?b", "a?b"),
    ])
  func query(_ query: String, _ expected: String) async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.httpHeaders("GET", "/hello?" + query), ends: true))
      let first = try await Self.text(peer.response(1))
      #expect(first == "GET /hello name=\(expected)\n")
    }
  }

  @Test("A body at the limit is taken, one byte more is 413")
  func bodyLimit() async throws {
    try await peer(limit: 50_000) { peer, _ in
      peer.send(.headers(1, HTTP2Peer.httpHeaders("POST", "/body")))
      peer.sendBody(1, [UInt8](repeating: 1, count: 50_000))
      #expect(try await peer.response(1).body.count == 50_000)
      peer.send(.headers(3, HTTP2Peer.httpHeaders("POST", "/body")))
      peer.sendBody(3, [UInt8](repeating: 1, count: 50_001), ends: false)
      let refusal = try await peer.response(3)
      #expect(refusal.value(":status") == "413")
      peer.send(.headers(5, HTTP2Peer.httpHeaders("GET", "/hello"), ends: true))
      #expect(try await peer.response(5).value(":status") == "200")
    }
  }

  @Test("What the server itself refuses is said in the words of the route, and told")
  func ownWords() async throws {
    let told = Told()
    let refusing: @Sendable (HTTPRefusal) -> HTTPServerResponse = {
      .json($0.status, Array("{\"code\":\"\($0.reason)\"}".utf8), headers: $0.headers)
    }
    let group = try EventLoopGroup(count: 1)
    let peers = try EventLoopGroup(count: 1)
    var configuration = RPCServerConfiguration()
    configuration.maximumRunningHandlers = 1
    configuration.http2.headerListBytes = 8_192
    var events = RPCServerEvents()
    events.httpRefused = { refusal, method, path, peer in told.add("\(method) \(path) \(refusal.status) \(peer.address)") }
    let entered = Tally("handlers that run")
    let server = RPCServer(
      on: group, services: [],
      http: [
        HTTPRoute("/api", maximumBodyBytes: 100, refusing: refusing) { _ in .text(200, "fine") },
        HTTPRoute("/slow") { _ in
          entered.add()
          try await EventLoop.current?.sleep(for: .seconds(600))
          return .text(200, "late")
        },
      ], configuration: configuration, events: events)
    let address = try server.listen(on: SocketAddress("127.0.0.1:0"))
    try await peers.loops[0].perform {
      let peer = try await HTTP2Peer.open(to: address, on: peers.loops[0])
      peer.send(.headers(1, HTTP2Peer.httpHeaders("POST", "/api?secret=1")))
      peer.sendBody(1, [UInt8](repeating: 1, count: 101), ends: false)
      let large = try await peer.response(1)
      #expect(large.value(":status") == "413" && large.json["code"]?.string == "REQUEST_TOO_LARGE")
      let long = (0..<3).map { ("x-long-\($0)", String(repeating: "x", count: 4_000)) }
      peer.send(.headers(3, HTTP2Peer.httpHeaders("GET", "/api", long), ends: true))
      let headers = try await peer.response(3)
      #expect(headers.value(":status") == "431" && headers.json["code"]?.string == "HEADERS_TOO_LARGE")
      peer.send(.headers(5, HTTP2Peer.httpHeaders("GET", "/slow"), ends: true))
      try await entered.wait { $0 == 1 }
      peer.send(.headers(7, HTTP2Peer.httpHeaders("GET", "/api"), ends: true))
      let busy = try await peer.response(7)
      #expect(busy.value(":status") == "503" && busy.json["code"]?.string == "OVERLOADED" && busy.value("retry-after") == "1")
      peer.send(.reset(5, 8))
      peer.close()
    }
    await server.drain(within: .seconds(10))
    #expect(told.all == ["POST /api 413 127.0.0.1", "GET /api 431 127.0.0.1", "GET /api 503 127.0.0.1"])
    peers.shutDown()
    group.shutDown()
  }

  private final class Told: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
  }

  @Test("A body larger than every window arrives whole")
  func largeBody() async throws {
    try await peer(limit: 4 << 20) { peer, _ in
      peer.send(.headers(1, HTTP2Peer.httpHeaders("POST", "/body")))
      // Sent as the server opens its windows, or it would be a flow-control error.
      var sent = 0
      var window = 262_144
      var seen = 0
      while sent < 2_000_000 {
        if window == 0 {
          try await peer.wait("a window") { peer.frames.dropFirst(seen).contains { $0.type == 8 && $0.stream == 1 } }
          for frame in peer.frames.dropFirst(seen) where frame.type == 8 && frame.stream == 1 { window += Int(frame.number()) }
          seen = peer.frames.count
        }
        let count = min(16_000, window, 2_000_000 - sent)
        sent += count
        window -= count
        peer.send(.data(1, [UInt8](repeating: 5, count: count), ends: sent == 2_000_000))
      }
      #expect(try await peer.response(1).body.count == 2_000_000)
    }
  }

  @Test("Another path is 404, or the fallback's")
  func fallback() async throws {
    try await peer { peer, _ in
      for (stream, path) in [
        (UInt32(1), "/"), (3, "/hello/"), (5, "/HELLO"), (7, "/h%65llo"), (9, "/" + String(repeating: "x", count: 4_000)),
      ] {
        peer.send(.headers(stream, HTTP2Peer.httpHeaders("GET", path), ends: true))
        let first = try await peer.response(stream).value(":status")
        #expect(first == "404")
      }
    }
    try await peer(fallback: { request in .text(200, "fallback \(request.path)") }) { peer, _ in
      peer.send(.headers(1, HTTP2Peer.httpHeaders("GET", "/any"), ends: true))
      let first = try await Self.text(peer.response(1))
      #expect(first == "fallback /any")
    }
  }

  @Test("A handler that fails is 500 with an incident that the log has too")
  func broken() async throws {
    try await peer { peer, server in
      peer.send(.headers(1, HTTP2Peer.httpHeaders("GET", "/broken"), ends: true))
      let response = try await peer.response(1)
      #expect(response.value(":status") == "500")
      let incident = try #require(server.incidents.first)
      #expect(Self.text(response) == "internal error, incident \(incident.id)\n")
      #expect(incident.error is Broken)
    }
  }

  @Test("204 has neither body nor length")
  func nothing() async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.httpHeaders("GET", "/nothing"), ends: true))
      let response = try await peer.response(1)
      #expect(response.value(":status") == "204")
      #expect(response.value("content-length") == nil)
    }
  }
}
