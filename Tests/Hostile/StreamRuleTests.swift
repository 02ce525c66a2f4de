import EventLoop
import HTTP2
import RPCServer
import TestSupport
import Testing

/// Streams too many, and frames that no rule allows.
@Suite("Hostile: the rules of streams")
struct StreamRuleTests {
  @Test("Hostile 15: a stream over the limit is refused while the limit is news, and ends the connection afterwards")
  func concurrency() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.concurrentStreams = 8
    try await EchoServer.run(configuration: configuration) { server, clients in
      let news = try HTTP2Peer.connect(to: server.address, on: clients.loops[0])
      news.isPolite = false
      news.send(HTTP2Frame.preface + HTTP2Frame.settings([]).bytes)
      for number in 0..<9 { news.call(UInt32(number * 2 + 1), "Sleep") }
      let refused = try await news.response(17)
      #expect(refused.resetCode == 7)
      try await server.handlers.sleeping.reaches(8)
      #expect(!news.isClosed)
      news.close()
      try await server.handlers.cancelled.reaches(8)

      let known = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      // The answer proves that the acknowledgement has arrived.
      try await known.probe(1)
      for number in 1...8 { known.call(UInt32(number * 2 + 1), "Sleep") }
      try await server.handlers.sleeping.reaches(16)
      #expect(!known.isClosed)
      known.call(19, "Sleep")
      try await known.closed()
      #expect(known.goawayCode == 1)
      try await server.handlers.cancelled.reaches(16)
    }
  }

  @Test("Hostile 15: streams refused without end end the connection")
  func refusedStreams() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.concurrentStreams = 4
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try HTTP2Peer.connect(to: server.address, on: clients.loops[0])
      peer.isPolite = false
      peer.send(HTTP2Frame.preface + HTTP2Frame.settings([]).bytes)
      for number in 0..<5_000 where !peer.isClosed { peer.call(UInt32(number * 2 + 1), "Sleep") }
      try await peer.closed()
      #expect(peer.goawayCode == 11)
      #expect(server.handlers.sleeping.value == 4)
    }
  }

  /// Frames that break a rule, and how they are called.
  struct Violation: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let frames: [HTTP2Frame]
    init(_ name: String, _ frames: HTTP2Frame...) {
      testDescription = name
      self.frames = frames
    }
  }

  private static let call = HTTP2Frame.headers(5, HTTP2Peer.grpcHeaders("Sum"))
  private static let violations = [
    Violation("a window beyond 2^31", .windowUpdate(0, 0x7fff_ffff)),
    Violation("a frame too long", HTTP2Frame(.data, stream: 1, [UInt8](repeating: 0, count: 16_385))),
    Violation("an even stream", .headers(2, HTTP2Peer.grpcHeaders("Echo"))),
    Violation("HEADERS of a skipped stream", call, .headers(3, HTTP2Peer.grpcHeaders("Sum"))),
    Violation("DATA of a skipped stream", call, .data(3, [1, 2, 3, 4, 5])),
    Violation("WINDOW_UPDATE of a skipped stream", call, .windowUpdate(3, 1)),
    Violation("RST_STREAM of a skipped stream", call, .reset(3, 8)),
    Violation("DATA of no stream", .data(0, [1])), Violation("a block that is none", .headers(1, [0x80])),
    Violation("PING of a stream", HTTP2Frame(.ping, stream: 1, [UInt8](repeating: 0, count: 8))),
    Violation("PUSH_PROMISE", HTTP2Frame(.pushPromise, stream: 1, [0, 0, 0, 2])),
    Violation("CONTINUATION of nothing", HTTP2Frame(.continuation, stream: 1, [])),
  ]

  @Test(
    "Hostile 16: what breaks a rule ends the connection, and is told once however often it is repeated", arguments: violations)
  func violation(_ violation: Violation) async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.send((0..<200).flatMap { _ in violation.frames.flatMap(\.bytes) })
      try await peer.closed()
      #expect(peer.goawayCode != nil && peer.goawayCode != 0)
      try await server.connections.wait { $0 == 0 }
      #expect(server.failures.count == 1)
      let other = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      try await other.probe(1)
      other.close()
    }
  }

  @Test(
    "Hostile 16: frames of a stream that was skipped end the connection, also when they come apart", arguments: [3, 8] as [UInt8])
  func skipped(_ type: UInt8) async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      try await peer.probe(1)
      try await peer.probe(7)
      // Of those that were opened such a frame is late.
      peer.send(HTTP2Frame(type: type, flags: 0, stream: 1, [0, 0, 0, 1]))
      try await peer.probe(9)
      peer.send(HTTP2Frame(type: type, flags: 0, stream: 5, [0, 0, 0, 1]))
      try await peer.closed()
      #expect(peer.goawayCode == 1)
    }
  }

  @Test("Hostile 16: GOAWAY frames of a client are no use to anybody, and a flood of them ends the connection")
  func goaways() async throws {
    try await Siege.run { siege in
      let endings = await Attacker.run(.same(HTTP2Frame(.goaway, [UInt8](repeating: 0, count: 8))), against: siege.server.address)
      for ending in endings { #expect(ending.isClosed) }
    }
  }
}
