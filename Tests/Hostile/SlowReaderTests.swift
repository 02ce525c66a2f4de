import EventLoop
import HTTP2
import RPCServer
import TestSupport
import Testing

/// Peers that ask and do not take the answers.
@Suite("Hostile: slow readers")
struct SlowReaderTests {
  @Test("Hostile 17: a hundred thousand requests of a peer that reads nothing cost a bounded queue")
  func deafPeer() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.writeStallTimeout = .seconds(1)
    try await Siege.run(configuration: configuration) { siege in
      let head = HTTP2Peer.grpcHeaders("Echo")
      let body = HTTP2Peer.message([0x0a, 0x64] + [UInt8](repeating: 0x61, count: 100))
      var flood = Flood.streams { [.headers($0, head), .data($0, body, ends: true)] }
      flood.reads = false
      let endings = await Attacker.run(flood, against: siege.server.address)
      for ending in endings { #expect(ending.isClosed) }
    }
  }

  @Test("Hostile 17: frames that wait behind a deaf peer end the connection at twice their limit")
  func queuedFrames() async throws {
    let gate = Gate()
    let staying = Staying(behind: gate)
    var configuration = RPCServerConfiguration()
    configuration.http2.queuedFrames = 64
    try await EchoServer.run(handlers: EchoHandlers(beforeEcho: staying.stay), configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0], receiveBuffer: 4_096)
      for number in 0..<200 { peer.call(UInt32(number * 2 + 1), "Echo", Staying.request) }
      try await staying.running.reaches(200)
      // Sixteen megabytes that nobody reads fill the kernel's buffers; then two hundred answers find no room.
      peer.pauseReading(true)
      peer.call(1_001, "Count", [0x08, 0x80, 0x08, 0x10, 0x80, 0x80, 0x01])
      try await Self.fill(server.handlers.counted, peer)
      gate.open()
      try await server.connections.wait { $0 == 0 }
      #expect(server.failures.map(\.code) == [.abuse])
      peer.close()
    }
  }

  /// Waits until nothing more of a response leaves, also when a PING makes the server try again.
  private static func fill(_ counted: Tally, _ peer: HTTP2Peer) async throws {
    try await counted.reaches(1)
    var last = 0
    var looks = 0
    while looks < 4 {
      peer.send(HTTP2Frame(.ping, [UInt8](repeating: 0, count: 8)))
      try await peer.loop.sleep(for: .milliseconds(250))
      looks = counted.value == last ? looks + 1 : 0
      last = counted.value
    }
  }

  @Test("Hostile 18: a response whose window stays shut is reset after the stall, its handler ends, and others are served")
  func shutWindow() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.writeStallTimeout = .milliseconds(400)
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0], settings: [(4, 0)])
      for number in 0..<20 { peer.call(UInt32(number * 2 + 1), "Count", [0x08, 0x80, 0x08, 0x10, 0xe0, 0xd4, 0x03]) }
      // One unary answer waits as well.
      peer.call(41, "Echo", [0x0a, 0x02, 0x68, 0x69])
      for stream in stride(from: UInt32(1), through: 41, by: 2) {
        let response = try await peer.response(stream)
        #expect(response.resetCode == 8)
      }
      try await server.handlers.ended.reaches(20)
      #expect(server.handlers.counted.value <= 40)
      // Streams that nothing waits on stay, however long.
      peer.call(43, "Sleep")
      try await server.handlers.sleeping.reaches(1)
      peer.call(45, "Count", [0x08, 1, 0x10, 0x64])
      let stalled = try await peer.response(45)
      #expect(stalled.resetCode == 8 && peer.streams[43]?.isOver != true)
      let statistics = await server.server.http2Statistics()
      #expect(statistics.reduce(HTTP2Statistics(), +).stalls == 22)
      peer.close()
    }
  }

  @Test("Hostile 18: a connection whose peer takes nothing is closed after the stall")
  func deafConnection() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.writeStallTimeout = .milliseconds(400)
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0], receiveBuffer: 4_096)
      peer.pauseReading(true)
      peer.call(1, "Count", [0x08, 0x80, 0x08, 0x10, 0x80, 0x80, 0x01])
      try await server.connections.wait { $0 == 0 }
      try await server.handlers.ended.reaches(1)
      #expect(server.failures.map(\.code) == [.stalled])
      peer.close()
    }
  }
}
