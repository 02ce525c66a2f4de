import EventLoop
import RPCServer
import TestSupport
import Testing

@Suite("Streams through the server")
struct StreamingTests {
  private func peer(
    settings: [(UInt16, UInt32)] = [(4, 0x7fff_ffff)], _ body: @escaping @Sendable (HTTP2Peer, EchoServer) async throws -> Void
  ) async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0], settings: settings)
      try await body(peer, server)
      try await peer.probe(2_001)
      peer.close()
    }
  }

  @Test("Server streaming sends every message in order")
  func count() async throws {
    try await peer { peer, _ in
      peer.call(1, "Count", [0x08, 0xe8, 0x07])
      let response = try await peer.response(1)
      #expect(response.status == 0)
      let messages = HTTP2Peer.messages(in: response.body)
      #expect(messages.count == 1_000)
      #expect(messages.first == [0x08, 1] && messages.last == [0x08, 0xe8, 0x07])
    }
  }

  @Test("A reader that does not read stops the writer, and lets it go on when it reads")
  func slowReader() async throws {
    try await peer(settings: [(4, 100_000)]) { peer, server in
      // 10,000 messages of 1,000 bytes: 10 MB, of which the window takes 100 KB and the stream holds 32 KiB.
      peer.call(1, "Count", [0x08, 0x90, 0x4e, 0x10, 0xe8, 0x07])
      try await peer.wait("a full window") { (peer.streams[1]?.body.count ?? 0) >= 100_000 }
      try await peer.probe(3)
      #expect(peer.streams[1]?.body.count == 100_000)
      #expect(server.handlers.counted.value < 200)
      peer.send(.windowUpdate(1, 0x7000_0000))
      let response = try await peer.response(1)
      #expect(response.status == 0)
      #expect(HTTP2Peer.messages(in: response.body).count == 10_000)
    }
  }

  @Test("Client streaming adds up all that was sent, whatever its frames")
  func sum() async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Sum")))
      let bytes = (1...1_000).flatMap { _ in HTTP2Peer.message([0x08, 2]) }
      var offset = 0
      for size in [1, 3, 5, 7, 4_000, 2_984] {
        peer.send(.data(1, Array(bytes[offset..<min(offset + size, bytes.count)])))
        offset += size
      }
      peer.send(.data(1, Array(bytes[offset...]), ends: true))
      let response = try await peer.response(1)
      #expect(response.status == 0)
      // total = 2,000, count = 1,000
      #expect(HTTP2Peer.messages(in: response.body) == [[0x08, 0xd0, 0x0f, 0x10, 0xe8, 0x07]])
    }
  }

  @Test("An empty stream of requests is a sum of nothing")
  func emptySum() async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Sum"), ends: true))
      let response = try await peer.response(1)
      #expect(response.status == 0)
      #expect(HTTP2Peer.messages(in: response.body) == [[]])
    }
  }

  @Test("Each message of a bidirectional call comes back before the next is sent")
  func chat() async throws {
    try await peer { peer, _ in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Chat")))
      for number in 1...100 {
        peer.send(.data(1, HTTP2Peer.message([0x0a, 1, UInt8(number)])))
        try await peer.wait("message \(number)") { HTTP2Peer.messages(in: peer.streams[1]?.body ?? []).count == number }
      }
      peer.send(.data(1, [], ends: true))
      #expect(try await peer.response(1).status == 0)
    }
  }

  @Test("A stream of requests larger than every window flows as it is read")
  func largeUpload() async throws {
    try await peer { peer, server in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Sum")))
      let chunk = (0..<1_000).flatMap { _ in HTTP2Peer.message([0x08, 1]) }
      var window = 262_144
      var seen = 0
      for round in 1...200 {
        while window < chunk.count {
          try await peer.wait("a window") { peer.frames.dropFirst(seen).contains { $0.type == 8 && $0.stream == 1 } }
          for frame in peer.frames.dropFirst(seen) where frame.type == 8 && frame.stream == 1 { window += Int(frame.number()) }
          seen = peer.frames.count
        }
        window -= chunk.count
        peer.send(.data(1, chunk, ends: round == 200))
      }
      #expect(try await peer.response(1).status == 0)
      #expect(server.handlers.summed.value == 200_000)
    }
  }

  @Test("A stream that is cut off ends in an error, and its handler with it")
  func truncated() async throws {
    try await peer { peer, server in
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Sum")))
      peer.send(.data(1, HTTP2Peer.message([0x08, 1]) + [0, 0, 0], ends: true))
      let first = try await peer.response(1).status
      #expect(first == 13)
      peer.send(.headers(3, HTTP2Peer.grpcHeaders("Sum")), .data(3, [0, 0xff, 0xff, 0xff, 0xff]))
      let second = try await peer.response(3).status
      #expect(second == 8)
    }
  }

  @Test("A writer that waits for a reader is woken by the reader's reset and by its deadline", arguments: [false, true])
  func stuckWriter(_ byDeadline: Bool) async throws {
    try await peer(settings: [(4, 1_000)]) { peer, server in
      peer.call(1, "Count", [0x08, 0x90, 0x4e, 0x10, 0xe8, 0x07], headers: byDeadline ? [("grpc-timeout", "100m")] : [])
      try await peer.wait("a full window") { (peer.streams[1]?.body.count ?? 0) >= 1_000 }
      if !byDeadline { peer.send(.reset(1, 8)) }
      // A status would have to wait behind what the window holds back: the stream is cancelled instead.
      if byDeadline {
        let response = try await peer.response(1)
        #expect(response.resetCode == 8)
      }
      try await server.handlers.ended.reaches(1)
    }
  }

  @Test("A thousand duplex streams are open at once on one connection")
  func manyStreams() async throws {
    try await peer { peer, _ in
      let ids = (0..<1_000).map { UInt32($0 * 2 + 1) }
      for id in ids { peer.send(.headers(id, HTTP2Peer.grpcHeaders("Chat")), .data(id, HTTP2Peer.message([0x0a, 1, 0x61]))) }
      for id in ids {
        try await peer.wait("an answer on \(id)") { peer.streams[id]?.body.count == 8 }
        peer.send(.data(id, [], ends: true))
      }
      for id in ids { #expect(try await peer.response(id).status == 0) }
    }
  }
}
