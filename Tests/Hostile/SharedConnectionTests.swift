import EventLoop
import HTTP2
import RPCServer
import TestSupport
import Testing

/// Many clients on one connection of a proxy: what one of them does ends its own streams, and nobody else's (BB-01).
///
/// The peer is the proxy itself here, so that each frame is what the test says; `EdgeTests` has a real one.
@Suite("Hostile: a connection that many share")
struct SharedConnectionTests {
  private static let attacker = [("x-forwarded-for", "203.0.113.9")]
  private static let other = [("x-forwarded-for", "198.51.100.7")]
  private static let hello: [UInt8] = [0x0a, 0x02, 0x68, 0x69]

  private func run(
    _ change: @escaping (inout RPCServerConfiguration) -> Void = { _ in }, settings: [(UInt16, UInt32)] = [(4, 0x7fff_ffff)],
    handlers: EchoHandlers = EchoHandlers(), _ body: @escaping @Sendable (HTTP2Peer, EchoServer) async throws -> Void
  ) async throws {
    var configuration = RPCServerConfiguration()
    configuration.proxies = ForwardedClients(isProxy: { _ in true }, key: { $1.last ?? $0.host })
    configuration.http2.glitchesPerSecond = 0
    change(&configuration)
    try await EchoServer.run(handlers: handlers, configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0], settings: settings)
      // A long call of somebody else, which must outlive all that follows.
      peer.call(1, "Sleep", headers: Self.other)
      try await server.handlers.sleeping.reaches(1)
      try await body(peer, server)
      #expect(peer.streams[1] == nil && !peer.isClosed && peer.goawayCode == nil && server.failures.isEmpty)
      peer.send(.reset(1, 8))
      peer.close()
    }
  }

  /// One call of somebody else works.
  private static func serves(_ peer: HTTP2Peer, _ stream: UInt32) async throws {
    peer.call(stream, "Echo", hello, headers: other)
    let response = try await peer.response(stream)
    #expect(response.status == 0 && HTTP2Peer.messages(in: response.body) == [hello])
  }

  private static func send(_ block: [UInt8], _ stream: UInt32, on peer: HTTP2Peer) {
    for start in stride(from: 0, to: block.count, by: 16_384) {
      let end = min(start + 16_384, block.count)
      peer.send(
        HTTP2Frame(
          start == 0 ? .headers : .continuation,
          flags: (end == block.count ? HTTP2Frame.endHeaders : 0) | (start == 0 ? HTTP2Frame.endStream : 0), stream: stream,
          Array(block[start..<end])))
    }
  }

  @Test("A header list far over the limit is answered on its stream, and the next list is read as it was meant (BB-01)")
  func longList() async throws {
    try await run { peer, _ in
      let fields = (0..<90).flatMap { HPACK.literal("x-\($0)", [UInt8](repeating: 0x62, count: 2_000)) }
      Self.send(HTTP2Peer.httpHeaders("GET", "/") + fields + HPACK.block(Self.attacker), 3, on: peer)
      let plain = try await peer.response(3)
      #expect(plain.value(":status") == "431")
      // What the list adds to the table is there for the next one: the host, in the third list, is an index.
      let host = HPACK.indexed("x-forwarded-for", Array("198.51.100.7".utf8))
      Self.send(HTTP2Peer.grpcHeaders("Echo") + fields + host, 5, on: peer)
      let call = try await peer.response(5)
      #expect(call.status == 8)
      peer.send(.headers(7, HTTP2Peer.grpcHeaders("Metadata") + [0xbe]), .data(7, HTTP2Peer.message([]), ends: true))
      let next = try await peer.response(7)
      #expect(next.status == 0 && String(decoding: next.body, as: UTF8.self).contains("198.51.100.7"))
    }
  }

  @Test("205 long header lists of one client are its own business: it is refused, the others are served (BB-01)")
  func manyLongLists() async throws {
    try await run { peer, server in
      // The proxy's word stands at the end, past the limit.
      let block =
        HTTP2Peer.httpHeaders("GET", "/") + HPACK.literal("x-long", [UInt8](repeating: 0x62, count: 20_000))
        + HPACK.block(Self.attacker)
      for number in 0..<205 { Self.send(block, UInt32(number * 2 + 3), on: peer) }
      let last = try await peer.response(205 * 2 + 1)
      #expect(last.value(":status") == "431" || last.value(":status") == "429")
      peer.send(.headers(1_001, HTTP2Peer.httpHeaders("GET", "/", Self.attacker), ends: true))
      let refused = try await peer.response(1_001)
      #expect(refused.value(":status") == "429" && refused.value("retry-after") == "1")
      peer.call(1_003, "Echo", Self.hello, headers: Self.attacker)
      let call = try await peer.response(1_003)
      #expect(call.status == 8)
      try await Self.serves(peer, 1_005)
      #expect(server.shed.contains(.abuse))
    }
  }

  @Test("2,800 requests that are reset at once are their client's business alone (BB-01)")
  func rapidReset() async throws {
    try await run { peer, server in
      let head = HTTP2Peer.grpcHeaders("Sleep", Self.attacker)
      let body = HTTP2Peer.message([])
      for number in 0..<2_800 {
        let stream = UInt32(number * 2 + 3)
        peer.send(.headers(stream, head), .data(stream, body, ends: true), .reset(stream, 8))
      }
      try await Self.serves(peer, 6_001)
      // A thousand, and one that was one too many; then no handler of that client began.
      #expect(server.handlers.sleeping.value <= 1_003)
      peer.call(6_003, "Echo", Self.hello, headers: Self.attacker)
      let refused = try await peer.response(6_003)
      #expect(refused.status == 8)
    }
  }

  @Test("Tiny frames, windows opened byte by byte and priorities end the client's stream, not the connection (BB-01)")
  func frames() async throws {
    // Windows that have room to be opened.
    try await run({ $0.http2.glitchBurst = 200 }, settings: [(4, 65_535)]) { peer, _ in
      peer.send(.headers(3, HTTP2Peer.grpcHeaders("Sum", Self.attacker)))
      for _ in 0..<300 { peer.send(.windowUpdate(3, 1)) }
      let first = try await peer.response(3)
      #expect(first.resetCode == 11)
      let second = [("x-forwarded-for", "203.0.113.10")]
      peer.send(.headers(5, HTTP2Peer.grpcHeaders("Sum", second)))
      for _ in 0..<30 { peer.send(.data(5, [])) }
      let other = try await peer.response(5)
      #expect(other.resetCode == 11)
      try await Self.serves(peer, 7)
    }
  }

  @Test("Malformed requests that a proxy passes on cost their streams, and nobody's connection (BB-01)")
  func malformed() async throws {
    try await run({ $0.http2.glitchBurst = 200 }) { peer, _ in
      let block = HTTP2Peer.httpHeaders("GET", "/", Self.attacker) + HPACK.literal("X-Upper", "no")
      for number in 0..<500 { peer.send(.headers(UInt32(number * 2 + 3), block, ends: true)) }
      let last = try await peer.response(1_001)
      #expect(last.resetCode == 1)
      try await Self.serves(peer, 1_003)
    }
  }

  @Test("Handlers are counted for each client of a proxy (BB-01)")
  func handlers() async throws {
    try await run({ $0.maximumRunningHandlersPerConnection = 20 }) { peer, server in
      for number in 0..<20 { peer.call(UInt32(number * 2 + 3), "Sleep", headers: Self.attacker) }
      try await server.handlers.sleeping.reaches(21)
      peer.call(101, "Echo", Self.hello, headers: Self.attacker)
      let refused = try await peer.response(101)
      #expect(refused.status == 8)
      try await Self.serves(peer, 103)
    }
  }

  @Test("A client that reads none of its answers leaves the others their room (BB-01)")
  func unread() async throws {
    try await run({ $0.http2.responseBytes = 256 << 10 }, settings: [(4, 0)]) { peer, server in
      // Each writes until it may not any more: its window stays shut.
      for number in 0..<20 {
        peer.call(UInt32(number * 2 + 3), "Count", [0x08, 100, 0x10, 0xe0, 0xd4, 0x03], headers: Self.attacker)
      }
      try await peer.wait("as many as there is room for") { peer.streams.values.count { !$0.headers.isEmpty } >= 5 }
      peer.call(101, "Echo", Self.hello, headers: Self.other)
      peer.send(.windowUpdate(101, 1_000))
      let response = try await peer.response(101)
      #expect(response.status == 0)
    }
  }

  @Test("A client that sends its large requests slowly does not keep the others from theirs (BB-01)")
  func slowUploads() async throws {
    try await run({ $0.http2.requestBytes = 8 << 20 }) { peer, server in
      // Eight of a megabyte each, of which the first piece comes and no more: four would be all that may be on their way.
      let size = 1 << 20
      let head = HTTP2Peer.message([UInt8](repeating: 7, count: size)).prefix(100_000)
      for number in 0..<8 {
        let stream = UInt32(number * 2 + 3)
        peer.send(.headers(stream, HTTP2Peer.grpcHeaders("Echo", Self.attacker)))
        peer.sendBody(stream, Array(head), ends: false)
      }
      try await Self.serves(peer, 101)
      // A whole one of somebody else, sent as its window opens.
      let text = [UInt8](repeating: 0x61, count: size - 4)
      let message = HTTP2Peer.message([0x0a] + [0xfc, 0xff, 0x3f] + text)
      peer.send(.headers(201, HTTP2Peer.grpcHeaders("Echo", Self.other)))
      var sent = 0
      // What came before on the connection: eight pieces, and a call.
      let before = 8 * head.count + 100
      while sent < message.count {
        // The initial windows, and what was added to them.
        func open() -> Int { min(262_144 + Self.granted(peer, 201), 65_535 + Self.granted(peer, 0) - before) }
        let end = min(message.count, open())
        if end > sent { peer.sendBody(201, Array(message[sent..<end]), ends: end == message.count) }
        sent = max(sent, end)
        guard sent < message.count else { break }
        try await peer.wait("more window") { [sent] in open() > sent || peer.streams[201]?.isOver == true }
        guard peer.streams[201] == nil else { break }
      }
      let response = try await peer.response(201)
      #expect(response.status == 0 && response.body.count == message.count)
    }
  }

  private static func granted(_ peer: HTTP2Peer, _ stream: UInt32) -> Int {
    peer.frames.filter { $0.type == HTTP2Frame.Kind.windowUpdate.rawValue && $0.stream == stream }
      .reduce(0) { $0 + Int($1.number()) }
  }

  @Test("A peer that is no proxy names nobody: it loses its connection as ever (BB-01)")
  func direct() async throws {
    var configuration = RPCServerConfiguration()
    configuration.proxies = ForwardedClients(isProxy: { _ in false }, key: { $1.last ?? $0.host })
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      let fields = (0..<90).flatMap { HPACK.literal("x-\($0)", [UInt8](repeating: 0x62, count: 700)) }
      Self.send(HTTP2Peer.httpHeaders("GET", "/") + fields + HPACK.block(Self.attacker), 1, on: peer)
      try await peer.closed()
      #expect(peer.goawayCode == 11)
      let second = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      for number in 0..<205 where !second.isClosed {
        let block =
          HTTP2Peer.httpHeaders("GET", "/") + HPACK.literal("x-long", [UInt8](repeating: 0x62, count: 20_000))
          + HPACK.block([("x-forwarded-for", "203.0.113.\(number)")])
        Self.send(block, UInt32(number * 2 + 1), on: second)
      }
      try await second.closed()
      #expect(second.goawayCode == 11)
      let third = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      for number in 0..<2_800 {
        let stream = UInt32(number * 2 + 1)
        let head = HTTP2Peer.grpcHeaders("Sleep", [("x-forwarded-for", "203.0.113.\(number % 200)")])
        third.send(.headers(stream, head), .data(stream, HTTP2Peer.message([]), ends: true), .reset(stream, 8))
      }
      try await third.closed()
      #expect(third.goawayCode == 11)
      try await server.connections.wait { $0 == 0 }
      #expect(server.failures.map(\.code) == [.abuse, .abuse, .abuse])
    }
  }
}
