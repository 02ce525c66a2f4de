import EventLoop
import Glibc
import HTTP2
import RPC
import RPCServer
import TestSupport
import Testing

/// A connection from its preface to its end.
@Suite("Life of a connection")
struct LifeTests {
  private func server(
    _ change: (inout HTTP2Limits) -> Void = { _ in }, tls: Bool = false,
    _ body: @escaping @Sendable (EchoServer, EventLoop) async throws -> Void
  ) async throws {
    var configuration = RPCServerConfiguration()
    change(&configuration.http2)
    try await EchoServer.run(tls: tls, configuration: configuration) { server, clients in
      try await body(server, clients.loops[0])
    }
  }

  @Test("The server says its limits first")
  func settings() async throws {
    try await server { server, loop in
      let peer = try await HTTP2Peer.open(to: server.address, on: loop)
      let settings = try #require(peer.frames.first)
      var values: [UInt16: UInt32] = [:]
      for offset in stride(from: 0, to: settings.payload.count, by: 6) {
        values[UInt16(settings.payload[offset]) << 8 | UInt16(settings.payload[offset + 1])] = settings.number(at: offset + 2)
      }
      #expect(values == [3: 1_024, 4: 262_144, 5: 16_384, 6: 16_384])
      peer.close()
    }
  }

  @Test(
    "A peer that does not get through its handshake in time is closed",
    arguments: ["", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
  func handshakeTimeout(_ said: String) async throws {
    try await server({ $0.handshakeTimeout = .milliseconds(50) }) { server, loop in
      let peer = try HTTP2Peer.connect(to: server.address, on: loop)
      // It does not even answer the server's SETTINGS.
      peer.isPolite = false
      peer.send(Array(said.utf8))
      try await peer.closed()
      try await server.connections.wait { $0 == 0 }
      #expect(server.failures.map(\.code) == [.handshakeTimeout], "\(server.failures)")
    }
  }

  @Test("A TLS peer that says nothing is closed in time too")
  func tlsHandshakeTimeout() async throws {
    try await server({ $0.handshakeTimeout = .milliseconds(50) }, tls: true) { server, loop in
      let peer = try HTTP2Peer.connect(to: server.address, on: loop)
      peer.send([0x16, 0x03, 0x01])
      try await peer.closed()
    }
  }

  @Test("An idle connection is drained and closed; one with a call is not")
  func idle() async throws {
    try await server({ $0.idleTimeout = .milliseconds(60) }) { server, loop in
      let idle = try await HTTP2Peer.open(to: server.address, on: loop)
      let busy = try await HTTP2Peer.open(to: server.address, on: loop)
      busy.call(1, "Sleep")
      try await server.handlers.sleeping.reaches(1)
      try await idle.closed()
      #expect(idle.goawayCode == 0)
      #expect(!busy.isClosed && busy.goawayCode == nil)
      busy.close()
    }
  }

  @Test("An idle connection whose peer neither reads nor answers is closed all the same")
  func idleAndDeaf() async throws {
    try await server({
      $0.idleTimeout = .milliseconds(60)
      $0.drainNotice = .milliseconds(20)
      $0.handshakeTimeout = .milliseconds(200)
    }) { server, loop in
      let peer = try await HTTP2Peer.open(to: server.address, on: loop, receiveBuffer: 4_096)
      peer.isPolite = false
      peer.pauseReading(true)
      // Answers that no buffer holds, on streams that are then given up.
      for number in 0..<20 { peer.call(UInt32(number * 2 + 1), "Count", [0x08, 0x64, 0x10, 0xe0, 0xd4, 0x03]) }
      try await server.handlers.counted.reaches(20)
      for number in 0..<20 { peer.send(.reset(UInt32(number * 2 + 1), 8)) }
      try await server.connections.wait(within: .seconds(10)) { $0 == 0 }
      peer.close()
    }
  }

  @Test("A drain tells twice, takes calls that come in between, and closes after the last answer")
  func drain() async throws {
    let server = try EchoServer.start()
    let clients = try EventLoopGroup(count: 1)
    try await clients.loops[0].perform {
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Chat")))
      peer.send(.data(1, HTTP2Peer.message([])))
      try await peer.wait("an answer") { peer.streams[1]?.body.isEmpty == false }
      // Without an answer to its PING the server lets a second pass between the two.
      peer.isPolite = false
      let drained = Tally("drains")
      let drain = Task {
        await server.server.drain(within: .seconds(10))
        drained.add()
      }
      let goaway = HTTP2Frame.Kind.goaway.rawValue
      try await peer.wait("the notice") { peer.frames.contains { $0.type == goaway } }
      #expect(peer.frames.last { $0.type == goaway }?.number() == 0x7fff_ffff)
      peer.call(3, "Echo")
      let inBetween = try await peer.response(3)
      #expect(inBetween.status == 0)
      let ping = try #require(peer.frames.last { $0.type == HTTP2Frame.Kind.ping.rawValue })
      peer.send(HTTP2Frame(.ping, flags: HTTP2Frame.acknowledgement, ping.payload))
      try await peer.wait("the second GOAWAY") { peer.frames.filter { $0.type == goaway }.count == 2 }
      #expect(peer.frames.last { $0.type == goaway }?.number() == 3)
      peer.send(.headers(5, HTTP2Peer.grpcHeaders("Echo"), ends: true))
      #expect(drained.value == 0)
      peer.send(.data(1, HTTP2Peer.message([0x0a, 1, 0x61]), ends: true))
      let last = try await peer.response(1)
      #expect(last.status == 0 && HTTP2Peer.messages(in: last.body).count == 2)
      try await peer.closed()
      #expect(peer.streams[5] == nil)
      await drain.value
      #expect(peer.goawayCode == 0)
    }
    try await server.stop()
    clients.shutDown()
  }

  @Test("A drain cuts off what is not done within its limit, and takes no new connection")
  func drainLimit() async throws {
    let server = try EchoServer.start()
    let clients = try EventLoopGroup(count: 1)
    try await clients.loops[0].perform {
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.call(1, "Sleep")
      try await server.handlers.sleeping.reaches(1)
      await server.server.drain(within: .milliseconds(50))
      try await peer.closed()
      try await server.handlers.cancelled.reaches(1)
      #expect(throws: TimedOut.self) { try HTTP2Peer.connect(to: server.address, on: clients.loops[0]) }
    }
    try await server.stop()
    clients.shutDown()
  }

  @Test("A peer that sends byte by byte is served")
  func byteByByte() async throws {
    try await server { server, loop in
      let peer = try HTTP2Peer.connect(to: server.address, on: loop)
      // An answer to the SETTINGS would fall into the middle of a frame.
      peer.isPolite = false
      let bytes =
        HTTP2Frame.preface + HTTP2Frame.settings([(4, 100_000)]).bytes
        + HTTP2Frame.headers(1, HTTP2Peer.grpcHeaders("Echo")).bytes
        + HTTP2Frame.data(1, HTTP2Peer.message([0x18, 7]), ends: true).bytes
      for byte in bytes {
        peer.send([byte])
        await Task.yield()
      }
      let response = try await peer.response(1)
      #expect(HTTP2Peer.messages(in: response.body) == [[0x18, 7]])
      peer.close()
    }
  }

  @Test("Many requests in one write, and peers that vanish in the middle of one, leave nothing behind")
  func vanishing() async throws {
    try await server { server, loop in
      for cut in [10, 30, 60, 100, 200, 250] {
        let peer = try HTTP2Peer.connect(to: server.address, on: loop)
        let bytes =
          HTTP2Frame.preface + HTTP2Frame.settings([]).bytes + HTTP2Frame.headers(1, HTTP2Peer.grpcHeaders("Echo")).bytes
          + HTTP2Frame.data(1, HTTP2Peer.message([UInt8](repeating: 0, count: 100))).bytes
        peer.send(Array(bytes.prefix(cut)))
        peer.close(abruptly: cut % 20 == 0)
      }
      try await server.connections.wait { $0 == 0 }
      let peer = try await HTTP2Peer.open(to: server.address, on: loop)
      for number in 0..<500 { peer.call(UInt32(number * 2 + 1), "Echo", [0x18, 1]) }
      for number in 0..<500 {
        let response = try await peer.response(UInt32(number * 2 + 1))
        #expect(response.status == 0)
      }
      peer.close()
    }
  }

  @Test("A peer that does not read is not read from, and is served once it reads")
  func deafPeer() async throws {
    try await server { server, loop in
      let peer = try await HTTP2Peer.open(to: server.address, on: loop, receiveBuffer: 4_096)
      peer.pauseReading(true)
      // Twelve megabytes of answers to requests of eleven bytes.
      for number in 0..<200 { peer.call(UInt32(number * 2 + 1), "Count", [0x08, 1, 0x10, 0xe0, 0xd4, 0x03]) }
      let other = try await HTTP2Peer.open(to: server.address, on: loop)
      try await other.probe(1)
      other.close()
      peer.pauseReading(false)
      for number in 0..<200 {
        let response = try await peer.response(UInt32(number * 2 + 1))
        #expect(response.body.count == 60_011)
      }
      peer.close()
    }
  }

  @Test("A descriptor that cannot be served is closed once, and the server lives")
  func notASocket() async throws {
    try await server { server, loop in
      try await server.group.loops[0].perform {
        final class Nobody: HTTP2ConnectionDelegate {
          func connectionIsReady(_ connection: HTTP2Connection) {}
          func connection(_ connection: HTTP2Connection, opened stream: HTTP2Stream) {}
          func connectionIsDraining(_ connection: HTTP2Connection) {}
          func connectionClosed(_ connection: HTTP2Connection, _ error: HTTP2Error?) {}
        }
        let file = open("/etc/passwd", O_RDONLY | O_CLOEXEC)
        var before = stat()
        #expect(fstat(file, &before) == 0)
        let resources = HTTP2LoopResources(server.group.loops[0])
        #expect(throws: (any Error).self) {
          try HTTP2Connection.serve(
            file, peer: server.address, tls: nil, resources: resources, delegate: Nobody())
        }
        // The number may belong to another file already; this one it is no more.
        var after = stat()
        #expect(fstat(file, &after) != 0 || after.st_ino != before.st_ino)
      }
    }
  }
}
