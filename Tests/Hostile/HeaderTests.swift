import EventLoop
import HTTP2
import RPCServer
import TestSupport
import Testing

/// Header blocks that cost more to read than to send.
@Suite("Hostile: headers")
struct HeaderTests {
  private static let block = HTTP2Peer.grpcHeaders("Echo")

  @Test("Hostile 4: CONTINUATION without end ends the connection at the ninth frame", arguments: [0, 1, 16_384])
  func continuations(_ bytes: Int) async throws {
    try await Siege.run { siege in
      let frame = HTTP2Frame(.continuation, stream: 1, [UInt8](repeating: 0, count: bytes))
      let endings = await Attacker.run(
        .same(frame, opening: HTTP2Frame(.headers, stream: 1, Self.block).bytes), against: siege.server.address)
      // What the frames hold may break a rule before they are too many.
      for ending in endings { #expect(ending.isClosed && (bytes > 0 || ending.debug == "too_many_continuations")) }
      let begun = siege.server.handlers.sleeping.value
      #expect(begun == 0)
    }
  }

  @Test("Hostile 4: eight CONTINUATION frames are read, also when each byte comes alone; nine are not", arguments: [8, 9])
  func fewContinuations(_ count: Int) async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      try await peer.probe(1)
      var frames = HTTP2Frame(.headers, stream: 3, Array(Self.block.prefix(8))).bytes
      for part in 0..<count {
        let rest = part == count - 1 ? Self.block.count : 12 + part * 4
        frames +=
          HTTP2Frame(
            .continuation, flags: part == count - 1 ? HTTP2Frame.endHeaders : 0, stream: 3,
            Array(Self.block[(8 + part * 4)..<rest])
          ).bytes
      }
      frames += HTTP2Frame.data(3, HTTP2Peer.message([]), ends: true).bytes
      for byte in frames {
        peer.send([byte])
        // The server's thread reads meanwhile.
        for _ in 0..<20 { await Task.yield() }
      }
      if count == 8 {
        let response = try await peer.response(3)
        #expect(response.status == 0)
      } else {
        try await peer.closed()
        #expect(peer.goawayCode == 11)
      }
      peer.close()
    }
  }

  @Test("Hostile 5: a frame whose indexes stand for megabytes of headers ends the connection and costs no memory")
  func bomb() async throws {
    try await Siege.run(megabytes: 24) { siege in
      let block =
        Self.block + HPACK.indexed("x-bomb", [UInt8](repeating: 0x62, count: 3_900)) + [UInt8](repeating: 0xbe, count: 12_000)
      await siege.attack(.streams { [.headers($0, block, ends: true)] })
    }
  }

  @Test("Hostile 5: header lists over the limit are refused, and end the connection when there are many")
  func longLists() async throws {
    try await Siege.run(megabytes: 24) { siege in
      // One field of 3,900 bytes and five repetitions: over 16 KiB, below four times that.
      let block =
        Self.block + HPACK.indexed("x-bomb", [UInt8](repeating: 0x62, count: 3_900)) + [UInt8](repeating: 0xbe, count: 5)
      await siege.attack(.streams { [.headers($0, block, ends: true)] }, "too_many_long_header_lists")
    }
  }

  @Test("Hostile 6: header lists of 130 KiB in nine frames end the connection")
  func literalLists() async throws {
    try await Siege.run(megabytes: 24) { siege in
      let block = Self.block + (0..<36).flatMap { HPACK.literal("x-\($0)", [UInt8](repeating: 0x62, count: 3_600)) }
      await siege.attack(
        .streams { stream in
          stride(from: 0, to: block.count, by: 16_384).map { start in
            let end = min(start + 16_384, block.count)
            return HTTP2Frame(
              start == 0 ? .headers : .continuation, flags: end == block.count ? HTTP2Frame.endHeaders : 0, stream: stream,
              Array(block[start..<end]))
          }
        })
    }
  }
}
