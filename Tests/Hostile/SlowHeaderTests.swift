import EventLoop
import HTTP2
import RPCServer
import TestSupport
import Testing

/// Peers that say what they have to say byte by byte, or stop in the middle of it.
@Suite("Hostile: slow beginnings")
struct SlowHeaderTests {
  /// How a peer begins, without its end.
  struct Beginning: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var tls = false
    let bytes: [UInt8]
    var code: HTTP2Error.Code = .handshakeTimeout
  }

  private static let request = HTTP2Peer.grpcHeaders("Echo")
  private static let opening = HTTP2Frame.preface + HTTP2Frame.settings([]).bytes

  /// Sends `bytes` one by one, for as long as the connection is open, and begins again at `last` when there are no more.
  private func drip(_ bytes: [UInt8], _ peer: HTTP2Peer, on loop: EventLoop) async {
    for byte in bytes where !peer.isClosed {
      peer.send([byte])
      try? await loop.sleep(for: .milliseconds(20))
    }
  }

  @Test(
    "Hostile 19: a preface, SETTINGS or a TLS handshake that comes byte by byte ends with the handshake's time",
    arguments: [
      Beginning(testDescription: "nothing", bytes: []),
      Beginning(testDescription: "preface", bytes: HTTP2Frame.preface + [UInt8](repeating: 0, count: 10_000)),
      Beginning(
        testDescription: "SETTINGS",
        bytes: HTTP2Frame.preface + HTTP2Frame(.settings, [UInt8](repeating: 0, count: 10_000)).bytes),
      Beginning(testDescription: "TLS, nothing", tls: true, bytes: []),
      Beginning(
        testDescription: "TLS, a ClientHello", tls: true,
        bytes: [0x16, 3, 1, 0x20, 0, 1, 0, 0x1f, 0xfc, 3, 3] + [UInt8](repeating: 0, count: 8_000)),
    ])
  func handshake(_ beginning: Beginning) async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.handshakeTimeout = .milliseconds(300)
    try await EchoServer.run(tls: beginning.tls, configuration: configuration) { server, clients in
      let loop = clients.loops[0]
      let peer = try HTTP2Peer.connect(to: server.address, on: loop)
      peer.isPolite = false
      let dripping = loop.spawn { await drip(beginning.bytes, peer, on: loop) }
      try await peer.closed(within: .seconds(30))
      await dripping.value
      try await server.connections.wait { $0 == 0 }
      #expect(server.failures.map(\.code) == [.handshakeTimeout])
      peer.close()
    }
  }

  @Test(
    "Hostile 19: a header list that comes byte by byte, or never ends, ends the connection with ENHANCE_YOUR_CALM",
    arguments: [
      Beginning(testDescription: "a frame's first bytes", bytes: [0, 0, 80, 1]),
      Beginning(testDescription: "HEADERS", bytes: HTTP2Frame.headers(1, request + [UInt8](repeating: 0, count: 9_000)).bytes),
      Beginning(
        testDescription: "HEADERS whose padding comes late",
        bytes: HTTP2Frame(type: 1, flags: 0x0c, stream: 1, [200] + [UInt8](repeating: 0, count: 9_000)).bytes),
      Beginning(testDescription: "HEADERS without their end", bytes: HTTP2Frame(.headers, stream: 1, request).bytes),
      Beginning(
        testDescription: "CONTINUATION",
        bytes: HTTP2Frame(.headers, stream: 1, []).bytes
          + (0..<7).flatMap { _ in
            HTTP2Frame(.continuation, stream: 1, [UInt8](HPACK.literal("x", String(repeating: "v", count: 90)))).bytes
          }),
      Beginning(testDescription: "a PING", bytes: [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3]),
    ])
  func headers(_ beginning: Beginning) async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.headerTimeout = .milliseconds(300)
    try await EchoServer.run(configuration: configuration) { server, clients in
      let loop = clients.loops[0]
      let peer = try await HTTP2Peer.open(to: server.address, on: loop)
      try await peer.wait("the acknowledgement") { peer.frames.contains { $0.type == 4 && $0.flags == 1 } }
      peer.isPolite = false
      let dripping = loop.spawn { await drip(beginning.bytes, peer, on: loop) }
      try await peer.closed(within: .seconds(30))
      await dripping.value
      #expect(peer.goawayCode == 11)
      try await server.connections.wait { $0 == 0 }
      #expect(server.failures.map(\.code) == [.headerTimeout])
      peer.close()
    }
  }

  @Test(
    "Hostile 19: inside TLS, a record that never ends ends the idle connection, also one that comes right behind another",
    arguments: [false, true])
  func record(_ isGlued: Bool) async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.headerTimeout = .milliseconds(300)
    configuration.http2.drainNotice = .milliseconds(20)
    configuration.http2.handshakeTimeout = .seconds(2)
    try await EchoServer.run(tls: true, configuration: configuration) { server, clients in
      let client = try await SlowTLSPeer.open(to: server, on: clients.loops[0], endingAmidRecord: isGlued)
      if !isGlued { client.sendPartOfRecord() }
      try await client.closed()
      try await server.connections.wait(within: .seconds(30)) { $0 == 0 }
    }
  }

  @Test("A request's body may come byte by byte, for longer than its headers may")
  func slowBody() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.headerTimeout = .milliseconds(200)
    try await EchoServer.run(configuration: configuration) { server, clients in
      let loop = clients.loops[0]
      let peer = try await HTTP2Peer.open(to: server.address, on: loop)
      try await peer.wait("the acknowledgement") { peer.frames.contains { $0.type == 4 && $0.flags == 1 } }
      peer.send(.headers(1, Self.request))
      let body = HTTP2Frame.data(1, HTTP2Peer.message([0x0a, 14] + Array("byte after byte".utf8.prefix(14))), ends: true).bytes
      peer.send(Array(body.prefix(9)))
      for byte in body.dropFirst(9) {
        try await loop.sleep(for: .milliseconds(40))
        peer.send([byte])
      }
      let response = try await peer.response(1)
      #expect(response.status == 0)
      peer.close()
    }
  }

  @Test("A busy peer whose every write ends inside the next request's headers is served")
  func cutWrites() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.headerTimeout = .seconds(1)
    try await EchoServer.run(configuration: configuration) { server, clients in
      let loop = clients.loops[0]
      let peer = try await HTTP2Peer.open(to: server.address, on: loop)
      try await peer.wait("the acknowledgement") { peer.frames.contains { $0.type == 4 && $0.flags == 1 } }
      let end = MonotonicInstant.now().advanced(by: .seconds(3))
      var stream: UInt32 = 1
      var rest: [UInt8] = []
      // Each write is the rest of one request and the beginning of the next.
      while MonotonicInstant.now() < end {
        let bytes =
          HTTP2Frame.headers(stream, Self.request).bytes + HTTP2Frame.data(stream, HTTP2Peer.message([]), ends: true).bytes
        let cut = 5 + Int(stream / 2) % 60
        peer.send(rest + bytes.prefix(cut))
        rest = Array(bytes.dropFirst(cut))
        if stream > 1 {
          let response = try await peer.response(stream - 2)
          #expect(response.status == 0)
        }
        try await loop.sleep(for: .milliseconds(5))
        stream += 2
      }
      peer.send(rest)
      let last = try await peer.response(stream - 2)
      #expect(last.status == 0)
      #expect(stream > 20)
      peer.close()
    }
  }
}
