import EventLoop
import HTTP2
import RPCServer
import TestSupport
import Testing

/// What looks like an attack and is none: clients that work hard must never be cut off.
@Suite("Honest beside hostile")
struct HonestClientTests {
  private func peer(
    settings: [(UInt16, UInt32)] = [(4, 0x7fff_ffff)], _ body: @escaping @Sendable (HTTP2Peer, EchoServer) async throws -> Void
  ) async throws {
    // Nothing is forgiven with time, so that a fast machine and a slow one see the same.
    var configuration = RPCServerConfiguration()
    configuration.http2.glitchesPerSecond = 0
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0], settings: settings)
      try await body(peer, server)
      #expect(!peer.isClosed && peer.goawayCode == nil && server.failures.isEmpty)
      peer.close()
    }
  }

  @Test("Hostile 1: a client that cancels 300 calls at once keeps its connection, and no handler is left")
  func cancellations() async throws {
    try await peer { peer, server in
      for number in 0..<300 { peer.call(UInt32(number * 2 + 1), "Sleep") }
      try await server.handlers.sleeping.reaches(300)
      for number in 0..<300 { peer.send(.reset(UInt32(number * 2 + 1), 8)) }
      try await server.handlers.cancelled.reaches(300)
      try await peer.probe(1_001)
    }
  }

  @Test("Hostile 8: a client that measures each response with a PING, and one that pings now and then, are served")
  func pings() async throws {
    try await peer { peer, _ in
      let ping = HTTP2Frame(.ping, [UInt8](repeating: 1, count: 8))
      for number in 0..<500 {
        try await peer.probe(UInt32(number * 2 + 1))
        peer.send(ping)
      }
      // Keepalive, at intervals that the test need not wait for: it pings forty times without a pause.
      for _ in 0..<40 { peer.send(ping) }
      try await peer.wait("answers") { peer.frames.count { $0.type == ping.type && $0.flags == 1 } == 540 }
    }
  }

  @Test("Hostile 12: a hundred thousand messages of one byte each, in a frame of their own, are counted")
  func smallMessages() async throws {
    try await peer { peer, server in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Sum")))
      // The shortest messages there are: a prefix and nothing, or two bytes.
      let frames = HTTP2Frame.data(1, HTTP2Peer.message([])).bytes + HTTP2Frame.data(1, HTTP2Peer.message([0x08, 1])).bytes
      let batch = (0..<1_000).flatMap { _ in frames }
      for round in 1...50 {
        peer.send(batch)
        // No more than the window allows.
        try await server.handlers.summed.reaches(round * 2_000)
      }
      peer.send(.data(1, [], ends: true))
      let response = try await peer.response(1)
      // total = 50,000 and count = 100,000.
      #expect(
        response.status == 0 && HTTP2Peer.messages(in: response.body) == [[0x08, 0xd0, 0x86, 0x03, 0x10, 0xa0, 0x8d, 0x06]])
    }
  }

  @Test("Hostile 13: a client that opens both windows for each DATA frame, and for each request, is served")
  func windowUpdates() async throws {
    try await peer(settings: [(4, 20_000)]) { peer, _ in
      // A thousand messages of 4 KB through windows of five.
      peer.call(1, "Count", [0x08, 0xe8, 0x07, 0x10, 0xa0, 0x1f])
      var opened = 0
      while peer.streams[1]?.isOver != true {
        let body = peer.streams[1]?.body.count ?? 0
        // Two a frame: of a body, those of 4 KB each.
        while opened + 4_000 <= body {
          peer.send(.windowUpdate(1, 4_000), .windowUpdate(0, 4_000))
          opened += 4_000
        }
        let seen = body
        try await peer.wait("more") {
          peer.isClosed || peer.streams[1]?.isOver == true || peer.streams[1]?.body.count ?? 0 > seen
        }
        guard !peer.isClosed else { return }
      }
      #expect(peer.streams[1]?.status == 0)
      // curl opens the window of each request as it makes it.
      for number in 1...1_500 {
        let stream = UInt32(number * 2 + 1)
        peer.send(
          .headers(stream, HTTP2Peer.httpHeaders("GET", "/"), ends: true), .windowUpdate(stream, 1_000),
          .windowUpdate(stream, 1_000))
        if number % 500 == 0 { _ = try await peer.response(stream) }
      }
    }
  }

  @Test("Hostile 12: padding is given back to the windows: ten megabytes of it pass through a window of one")
  func padding() async throws {
    try await peer { peer, server in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Sum")))
      let frame = HTTP2Frame(
        .data, flags: 8, stream: 1, [255] + HTTP2Peer.message([0x08, 1]) + [UInt8](repeating: 0, count: 255)
      ).bytes
      for round in 1...80 {
        peer.send((0..<500).flatMap { _ in frame })
        try await server.handlers.summed.reaches(round * 500)
      }
      peer.send(.data(1, [], ends: true))
      let response = try await peer.response(1)
      #expect(response.status == 0)
    }
  }
}
