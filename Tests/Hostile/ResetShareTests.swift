import EventLoop
import HTTP2
import RPCServer
import TestSupport
import Testing

/// Resets among completed calls: a busy proxy's are a small share of its calls, an attacker's are not.
@Suite("Hostile: the share of resets")
struct ResetShareTests {
  private static let burst = 200

  /// Nothing is forgiven with time, so that a fast machine and a slow one see the same.
  private func run(_ body: @escaping @Sendable (HTTP2Peer, EchoServer) async throws -> Void) async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.glitchesPerSecond = 0
    configuration.http2.glitchBurst = Self.burst
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      try await body(peer, server)
      peer.close()
    }
  }

  /// Makes calls that are answered, and begins `cancelled` others that are reset at once.
  private static func calls(_ count: Int, cancelled: Int, from stream: inout UInt32, on peer: HTTP2Peer) async throws {
    var last = stream
    for _ in 0..<count {
      last = stream
      peer.call(stream, "Echo", [0x0a, 0x02, 0x68, 0x69])
      stream += 2
    }
    for _ in 0..<cancelled {
      peer.call(stream, "Sleep")
      peer.send(.reset(stream, 8))
      stream += 2
    }
    try await peer.wait("the last answer") { peer.streams[last]?.isOver == true || peer.isClosed }
  }

  @Test("A proxy whose callers cancel two calls of a hundred keeps its connection, however many calls there are (RF-03)")
  func proxy() async throws {
    try await run { peer, server in
      var stream: UInt32 = 1
      var cancelled = 0
      while cancelled <= Self.burst + 50 {
        try await Self.calls(490, cancelled: 10, from: &stream, on: peer)
        cancelled += 10
        guard !peer.isClosed else { break }
      }
      #expect(!peer.isClosed && peer.goawayCode == nil && server.failures.isEmpty, "after \(cancelled) cancelled calls")
    }
  }

  @Test("A peer that resets as many calls as it lets be answered loses its connection (RF-03)")
  func half() async throws {
    try await run { peer, server in
      var stream: UInt32 = 1
      for _ in 0..<2 * Self.burst where !peer.isClosed { try await Self.calls(1, cancelled: 1, from: &stream, on: peer) }
      try await peer.closed()
      #expect(peer.goawayCode == 11)
      try await server.connections.wait { $0 == 0 }
      #expect(server.failures.map(\.code) == [.abuse])
    }
  }

  @Test(
    "Resets of calls that the server gave up at their deadline cost nothing, however many: a slow dependency ends nobody (RF-03)")
  func deadlines() async throws {
    try await run { peer, server in
      var stream: UInt32 = 1
      for _ in 0..<3 {
        let first = stream
        for _ in 0..<Self.burst {
          peer.call(stream, "Sleep", headers: [("grpc-timeout", "20m")])
          stream += 2
        }
        let last = stream
        try await peer.wait("the deadlines") {
          peer.isClosed || stride(from: first, to: last, by: 2).allSatisfy { peer.streams[$0]?.isOver == true }
        }
        // The callers' own clocks, a moment later.
        for number in stride(from: first, to: last, by: 2) { peer.send(.reset(number, 8)) }
      }
      try await peer.probe(stream)
      #expect(peer.streams[1]?.status == 4 && !peer.isClosed && server.failures.isEmpty)
      // What was forgiven once is not forgiven twice.
      for _ in 0...Self.burst { peer.send(.reset(1, 8)) }
      try await peer.closed()
      #expect(peer.goawayCode == 11)
    }
  }

  @Test("What the server itself resets at a deadline, since its caller reads nothing, is not the caller's doing (RF-03)")
  func unreadDeadlines() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.glitchesPerSecond = 0
    configuration.http2.glitchBurst = Self.burst
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0], settings: [(4, 0)])
      let streams = (0..<UInt32(Self.burst + 50)).map { $0 * 2 + 1 }
      for stream in streams { peer.call(stream, "Count", [0x08, 2, 0x10, 0xc0, 0xb8, 0x02], headers: [("grpc-timeout", "50m")]) }
      try await peer.wait("the deadlines") { peer.isClosed || streams.allSatisfy { peer.streams[$0]?.isOver == true } }
      #expect(!peer.isClosed && server.failures.isEmpty && streams.contains { peer.streams[$0]?.resetCode == 8 })
      peer.close()
    }
  }
}
