import EventLoop
import HTTP2
import RPCServer
import TestSupport
import Testing

/// Requests that end in a reset, asked for or provoked.
@Suite("Hostile: resets")
struct ResetTests {
  private static let malformed = HPACK.block([
    (":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "test"), ("X-Upper", "no"),
  ])

  @Test("Hostile 1: a hundred thousand requests that are reset at once end the connection, and each handler with its stream")
  func rapidReset() async throws {
    try await Siege.run { siege in
      let head = HTTP2Peer.grpcHeaders("Echo")
      let body = HTTP2Peer.message(Staying.request)
      let began = MonotonicInstant.now()
      let endings = await siege.attack(
        .streams { [.headers($0, head), .data($0, body, ends: true), .reset($0, 8)] }, "too_many_resets")
      let seconds = Int(MonotonicInstant.now().duration(since: began) / .seconds(1)) + 1
      let statistics = await siege.statistics()
      // A thousand for each connection, and 33 a second.
      #expect(statistics.resetsReceived <= endings.count * 1_000 + seconds * 33)
      #expect(siege.staying.begun.value <= endings.count * 1_001 + seconds * 33)
      #expect(statistics.connectionsEndedForAbuse == endings.count && siege.server.failures.count == endings.count)
      try await siege.staying.running.wait { $0 == 0 }
    }
  }

  @Test("Hostile 1: of handlers that stay although they are cancelled, a connection has 64 where it may have 64")
  func stubbornHandlers() async throws {
    let gate = Gate()
    let staying = Staying(behind: gate)
    var configuration = RPCServerConfiguration()
    configuration.maximumRunningHandlersPerConnection = 64
    try await EchoServer.run(handlers: EchoHandlers(beforeEcho: staying.stay), configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      for number in 0..<64 {
        let stream = UInt32(number * 2 + 1)
        peer.call(stream, "Echo", Staying.request)
        if number < 63 { peer.send(.reset(stream, 8)) }
      }
      try await staying.running.reaches(64)
      // The 65th, though 63 of the streams are long gone; for HTTP requests the same holds.
      peer.call(201, "Echo", Staying.request)
      let refused = try await peer.response(201)
      #expect(refused.status == 8 && refused.value("retry-after") == "1")
      peer.send(.headers(203, HTTP2Peer.httpHeaders("GET", "/"), ends: true))
      let unavailable = try await peer.response(203)
      #expect(unavailable.value(":status") == "503")
      // Other connections have room of their own.
      let other = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      try await other.probe(1)
      other.close()
      gate.open()
      let answered = try await peer.response(127)
      #expect(answered.status == 0)
      try await staying.running.wait { $0 == 0 }
      try await peer.probe(205)
      peer.close()
    }
  }

  @Test("Hostile 2: what provokes a reset of a stream ends the connection", arguments: 0..<4)
  func madeYouReset(_ kind: Int) async throws {
    try await Siege.run { siege in
      let head = HTTP2Peer.grpcHeaders("Sum")
      let flood =
        switch kind {
        case 0: Flood.streams { [.headers($0, head), .windowUpdate($0, 0)] }
        case 1: Flood.streams { [.headers($0, head, ends: true), .data($0, [1])] }
        case 2: Flood.streams { [.headers($0, head), .windowUpdate($0, 0x7fff_ffff)] }
        default: Flood.streams { [.headers($0, head), HTTP2Frame(.priority, stream: $0, HTTP2Frame.number($0) + [1])] }
        }
      let endings = await Attacker.run(flood, against: siege.server.address)
      for ending in endings {
        // Either at the first or at the thousandth; streams that wait for their reset count as open.
        #expect(ending.isClosed && [1, 3, 5, 11].contains(ending.code))
        #expect(ending.resets <= 2_100)
      }
    }
  }

  @Test("Hostile 3: a malformed header per stream ends the connection")
  func malformedHeaders() async throws {
    try await Siege.run { siege in
      let began = MonotonicInstant.now()
      let endings = await siege.attack(.streams { [.headers($0, Self.malformed, ends: true)] }, "too_many_malformed_requests")
      let seconds = Int(MonotonicInstant.now().duration(since: began) / .seconds(1)) + 1
      let statistics = await siege.statistics()
      // The SETTINGS of each connection, and the last of its requests, are glitches as well.
      #expect(statistics.glitches <= endings.count * 1_002 + seconds * 33)
      #expect(endings.allSatisfy { $0.resets <= 1_001 + seconds * 33 })
    }
  }

  @Test("Hostile 3: a body longer than was announced, per stream, ends the connection")
  func longBodies() async throws {
    try await Siege.run { siege in
      let head = HTTP2Peer.httpHeaders("POST", "/", [("content-length", "1")])
      let endings = await Attacker.run(
        .streams { [.headers($0, head), .data($0, [1, 2, 3, 4, 5, 6])] }, against: siege.server.address)
      for ending in endings { #expect(ending.isClosed && [1, 11].contains(ending.code)) }
    }
  }

  @Test("Hostile 14: resets of a stream that is closed end the connection")
  func resetsOfClosedStreams() async throws {
    try await Siege.run { siege in
      let opening =
        HTTP2Frame.headers(1, HTTP2Peer.grpcHeaders("Echo")).bytes + HTTP2Frame.data(1, HTTP2Peer.message([]), ends: true).bytes
      await siege.attack(.same(.reset(1, 8), opening: opening), "too_many_resets")
    }
  }

  @Test("Hostile 3: the burst is counted to the last: 987 resets after the handshake pass, one more does not")
  func edge() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.glitchesPerSecond = 0
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      // SETTINGS count as twelve, the WINDOW_UPDATE before the first request as one.
      try await peer.probe(1)
      for _ in 0..<987 { peer.send(.reset(1, 8)) }
      try await peer.probe(3)
      peer.send(.reset(1, 8))
      try await peer.closed()
      #expect(peer.goawayCode == 11)
      try await server.connections.wait { $0 == 0 }
      #expect(server.failures.map(\.code) == [.abuse])
    }
  }
}
