import EventLoop
import HTTP2
import RPC
import RPCServer
import TestSupport
import Testing

/// What one connection may cost, and how it ends when it asks for more. Driven by raw frames against the echo server.
@Suite("HTTP/2 limits")
struct LimitTests {
  private func peer(
    _ change: (inout RPCServerConfiguration) -> Void = { _ in }, settings: [(UInt16, UInt32)] = [(4, 0x7fff_ffff)],
    _ body: @escaping @Sendable (HTTP2Peer, EchoServer) async throws -> Void
  ) async throws {
    var configuration = RPCServerConfiguration()
    change(&configuration)
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0], settings: settings)
      try await body(peer, server)
      peer.close()
      // The server serves on, whatever happened.
      let other = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      try await other.probe(1)
      other.close()
    }
  }

  /// The size of a header list as RFC 9113, section 6.5.2 counts it.
  private static func size(_ fields: [(String, String)]) -> Int {
    fields.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 32 }
  }

  private static let grpc = [
    (":method", "POST"), (":scheme", "http"), (":path", "/parley.testing.v1.EchoService/Echo"), (":authority", "test"),
    ("te", "trailers"), ("content-type", "application/grpc"),
  ]
  private static let http = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "test")]

  /// Sends a header list of exactly `size` bytes, in HEADERS and CONTINUATION frames.
  private static func send(_ peer: HTTP2Peer, _ stream: UInt32, _ fields: [(String, String)], size: Int, ends: Bool) {
    let filler = size - self.size(fields) - 33
    let block = HPACK.block(fields + [("x", String(repeating: "v", count: filler))])
    var parts: [[UInt8]] = []
    var offset = 0
    while offset < block.count {
      parts.append(Array(block[offset..<min(offset + 16_000, block.count)]))
      offset += 16_000
    }
    for (index, part) in parts.enumerated() {
      let flags = (index == parts.count - 1 ? HTTP2Frame.endHeaders : 0) | (index == 0 && ends ? HTTP2Frame.endStream : 0)
      peer.send(HTTP2Frame(index == 0 ? .headers : .continuation, flags: flags, stream: stream, part))
    }
  }

  @Test("A header list of 16 KiB is served; one byte more is 431, or RESOURCE_EXHAUSTED for gRPC")
  func headerList() async throws {
    try await peer { peer, _ in
      Self.send(peer, 1, Self.http, size: 16_384, ends: true)
      let plain = try await peer.response(1)
      #expect(plain.value(":status") == "404")
      Self.send(peer, 3, Self.http, size: 16_385, ends: true)
      let refused = try await peer.response(3)
      #expect(refused.value(":status") == "431")
      Self.send(peer, 5, Self.grpc, size: 16_384, ends: false)
      peer.sendBody(5, HTTP2Peer.message([]))
      let call = try await peer.response(5)
      #expect(call.status == 0)
      Self.send(peer, 7, Self.grpc, size: 16_385, ends: false)
      let exhausted = try await peer.response(7)
      #expect(exhausted.status == 8)
      // Up to four times the limit the connection lives.
      Self.send(peer, 9, Self.grpc, size: 65_536, ends: false)
      let far = try await peer.response(9)
      #expect(far.status == 8)
      try await peer.probe(11)
    }
  }

  @Test("A header list more than four times too long ends the connection with ENHANCE_YOUR_CALM")
  func headerListFarOver() async throws {
    try await peer { peer, _ in
      Self.send(peer, 1, Self.grpc, size: 65_537, ends: false)
      try await peer.closed()
      #expect(peer.goawayCode == 11)
    }
  }

  @Test("A few bytes of HPACK that stand for megabytes of headers end the connection and cost no memory")
  func bomb() async throws {
    try await peer { peer, _ in
      // A field of 3,900 bytes enters the dynamic table; every further byte repeats it: 16 KB stand for 48 MB.
      let block =
        HPACK.block(Self.grpc) + HPACK.indexed("x-bomb", [UInt8](repeating: 0x62, count: 3_900))
        + [UInt8](repeating: 0xbe, count: 12_000)
      peer.send(.headers(1, block))
      try await peer.closed()
      #expect(peer.goawayCode == 11)
    }
  }

  @Test("A flood of CONTINUATION frames ends the connection")
  func continuations() async throws {
    try await peer { peer, _ in
      let block = HPACK.block(Self.grpc)
      peer.send(HTTP2Frame(.headers, stream: 1, block))
      for _ in 0..<1_000 { peer.send(HTTP2Frame(.continuation, stream: 1, [])) }
      try await peer.closed()
    }
  }

  @Test("A header block in eight CONTINUATION frames is served")
  func fewContinuations() async throws {
    try await peer { peer, _ in
      let block = HPACK.block(Self.grpc)
      peer.send(HTTP2Frame(.headers, stream: 1, Array(block.prefix(8))))
      for part in 0..<7 { peer.send(HTTP2Frame(.continuation, stream: 1, Array(block[(8 + part * 4)..<(12 + part * 4)]))) }
      peer.send(HTTP2Frame(.continuation, flags: HTTP2Frame.endHeaders, stream: 1, Array(block[36...])))
      peer.sendBody(1, HTTP2Peer.message([]))
      let response = try await peer.response(1)
      #expect(response.status == 0)
    }
  }

  @Test("1,024 streams may be open; the next is refused while the limit is news, and the others serve on")
  func streams() async throws {
    try await peer { peer, server in
      for number in 0..<1_024 { peer.call(UInt32(number * 2 + 1), "Sleep") }
      try await server.handlers.sleeping.reaches(1_024)
      peer.send(.reset(1, 8))
      try await server.handlers.cancelled.reaches(1)
      try await peer.probe(2_049)
    }
    // Without an acknowledgement of the limit the peer may not know it: REFUSED_STREAM, and the connection lives.
    try await EchoServer.run { server, clients in
      let peer = try HTTP2Peer.connect(to: server.address, on: clients.loops[0])
      peer.isPolite = false
      peer.send(HTTP2Frame.preface)
      peer.send(.settings([]), .windowUpdate(0, 0x7fff_0000))
      for number in 0..<1_025 { peer.call(UInt32(number * 2 + 1), "Sleep") }
      let refused = try await peer.response(2_049)
      #expect(refused.resetCode == 7)
      try await server.handlers.sleeping.reaches(1_024)
      #expect(!peer.isClosed)
      peer.close()
    }
  }

  @Test("The 1,025th stream after the limit was acknowledged ends the connection, and its handlers with it")
  func tooManyStreams() async throws {
    try await peer { peer, server in
      // The probe proves that the acknowledgement has arrived.
      try await peer.probe(1)
      for number in 1...1_025 { peer.call(UInt32(number * 2 + 1), "Sleep") }
      try await peer.closed(within: .seconds(10))
      #expect(peer.goawayCode == 1)
      try await server.connections.wait { $0 == 0 }
      try await server.handlers.cancelled.reaches(server.handlers.sleeping.value)
    }
  }

  @Test("Streams opened and reset without end cost the connection; each reset cancels its handler")
  func rapidReset() async throws {
    try await peer { peer, server in
      for number in 0..<20_000 where !peer.isClosed {
        let id = UInt32(number * 2 + 1)
        peer.call(id, "Sleep")
        peer.send(.reset(id, 8))
      }
      try await peer.closed(within: .seconds(10))
      try await server.connections.wait { $0 == 0 }
      try await server.handlers.cancelled.reaches(server.handlers.sleeping.value)
      // A thousand at once, and what one tick reads before the GOAWAY leaves: 512 KiB at 170 bytes a call.
      #expect(server.handlers.sleeping.value <= 5_000)
    }
  }

  @Test("A flood of PINGs from a peer that does not read ends the connection")
  func pings() async throws {
    try await peer { peer, server in
      peer.pauseReading(true)
      for _ in 0..<200_000 where peer.waitingBytes < 8 << 20 { peer.send(HTTP2Frame(.ping, [UInt8](repeating: 0, count: 8))) }
      try await server.connections.wait(within: .seconds(10)) { $0 == 0 }
    }
  }

  @Test("SETTINGS with 33 entries end the connection")
  func settings() async throws {
    try await peer { peer, _ in
      peer.send(.settings(Array(repeating: (UInt16(4), UInt32(100)), count: 33)))
      try await peer.closed()
      #expect(peer.goawayCode == 11)
    }
  }

  @Test(
    "A frame that breaks the rules ends the connection",
    arguments: [
      HTTP2Frame(.data, stream: 0, [1]), HTTP2Frame(.headers, flags: 4, stream: 2, []), HTTP2Frame(.windowUpdate, [0, 0, 0, 0]),
      HTTP2Frame(.ping, [1]), HTTP2Frame(.continuation, stream: 1, []),
      HTTP2Frame(.data, stream: 1, [UInt8](repeating: 0, count: 16_385)),
      HTTP2Frame(.settings, flags: 1, [1]), HTTP2Frame(.pushPromise, stream: 1, [0, 0, 0, 2]),
      HTTP2Frame.windowUpdate(0, 0x7fff_ffff),
    ])
  func violations(_ frame: HTTP2Frame) async throws {
    try await peer { peer, _ in
      peer.send(frame)
      try await peer.closed()
      #expect(peer.goawayCode != nil && peer.goawayCode != 0)
    }
  }

  @Test("More DATA than the window allows ends the stream or the connection")
  func windowOverflow() async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Sum")))
      peer.sendBody(1, HTTP2Peer.message([UInt8](repeating: 0, count: 3_000_000)), ends: false)
      try await peer.wait("an end") { peer.isClosed || peer.streams[1]?.isOver == true }
    }
  }
}
