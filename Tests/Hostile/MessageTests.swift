import Buffers
import Compression
import EventLoop
import HTTP2
import RPC
import RPCServer
import TestSupport
import Testing

/// What is hostile inside of a call: its prefix, its message, its headers.
@Suite("Hostile: messages")
struct MessageTests {
  /// Sends one request by raw frames, under siege, and returns what came back.
  private func answer(
    _ method: String, _ body: [UInt8], _ headers: [(String, String)] = [], megabytes: Int = 24
  ) async throws -> HTTP2Peer.Exchange {
    let answer = Answer()
    try await Siege.run(megabytes: megabytes) { siege in
      let clients = try EventLoopGroup(count: 1, name: "client")
      defer { clients.shutDown() }
      answer.exchange = try await clients.loops[0].perform {
        let peer = try await HTTP2Peer.open(to: siege.server.address, on: clients.loops[0])
        peer.send(.headers(1, HTTP2Peer.grpcHeaders(method, headers)))
        try await Self.send(body, on: peer)
        let exchange = try await peer.response(1)
        // The connection is not to blame for its calls.
        try await peer.probe(3)
        peer.close()
        return exchange
      }
      #expect(siege.server.incidents.isEmpty)
    }
    return try #require(answer.exchange)
  }

  /// Sends a body as the server's windows allow, unless it answers before it has heard everything.
  private static func send(_ body: [UInt8], on peer: HTTP2Peer) async throws {
    func opened(_ stream: UInt32) -> Int {
      peer.frames.lazy.filter { $0.type == HTTP2Frame.Kind.windowUpdate.rawValue && $0.stream == stream }
        .reduce(0) { $0 + Int($1.number()) }
    }
    var offset = 0
    repeat {
      let end = min(offset + 16_384, body.count)
      try await peer.wait("a window") {
        peer.isClosed || peer.streams[1]?.isOver == true || end <= min(262_144 + opened(1), 65_535 + opened(0))
      }
      if peer.streams[1]?.isOver == true { return }
      peer.send(.data(1, Array(body[offset..<end]), ends: end == body.count))
      offset = end
    } while offset < body.count
  }

  // SAFETY: written inside of `run`, and read after it.
  private final class Answer: @unchecked Sendable { var exchange: HTTP2Peer.Exchange? }

  @Test(
    "Hostile 21: a prefix that announces 4 GB is RESOURCE_EXHAUSTED, and nothing is reserved for it", arguments: ["Echo", "Sum"])
  func lyingPrefix(_ method: String) async throws {
    let exchange = try await answer(method, [0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3])
    #expect(exchange.status == 8)
  }

  @Test("Hostile 21: a message that is cut off is an error of the call", arguments: ["Echo", "Sum"])
  func truncated(_ method: String) async throws {
    let exchange = try await answer(method, [0, 0, 0, 0, 100, 1, 2, 3])
    #expect(exchange.status == 13)
  }

  @Test("Hostile 21: a hundred thousand empty messages of one call are counted one by one")
  func manyMessages() async throws {
    let exchange = try await answer("Sum", (0..<100_000).flatMap { _ in [0, 0, 0, 0, 0] as [UInt8] })
    #expect(exchange.status == 0 && HTTP2Peer.messages(in: exchange.body) == [[0x10, 0xa0, 0x8d, 0x06]])
  }

  @Test("Hostile 21: 60 KB that stand for 60 MB are RESOURCE_EXHAUSTED", arguments: ["Echo", "Sum"])
  func compressedBomb(_ method: String) async throws {
    let zeros = [UInt8](repeating: 0, count: 60_000_000)
    let output = ByteBuffer()
    zeros.withUnsafeBytes { _ = Compressor().compress($0, .gzip, into: output) }
    let exchange = try await answer(method, HTTP2Peer.message([UInt8](output.bytes), flags: 1), [("grpc-encoding", "gzip")])
    #expect(exchange.status == 8)
  }

  @Test("Hostile 21: an encoding that nobody knows is UNIMPLEMENTED, and the answer names those that are known")
  func unknownEncoding() async throws {
    let exchange = try await answer("Echo", HTTP2Peer.message([1], flags: 1), [("grpc-encoding", "zstd")])
    #expect(exchange.status == 12 && exchange.value("grpc-accept-encoding")?.contains("gzip") == true)
  }

  private static func varint(_ value: Int) -> [UInt8] {
    value < 128 ? [UInt8(value)] : [UInt8(value & 127 | 128)] + varint(value >> 7)
  }

  /// A tree whose only branch is so deep: `request.tree` = 1, `tree.left` = 2.
  private static func tree(levels: Int) -> [UInt8] {
    var reversed: [UInt8] = []
    for level in 0..<levels {
      let tag: UInt8 = level == levels - 1 ? 0x0a : 0x12
      reversed += ([tag] + varint(reversed.count)).reversed()
    }
    return reversed.reversed()
  }

  @Test(
    "Hostile 22: a message nested deeper than 100 levels is INVALID_ARGUMENT", arguments: [(99, 0), (1_000, 3), (200_000, 3)])
  func nested(_ levels: Int, _ status: Int) async throws {
    let exchange = try await answer("EchoTree", HTTP2Peer.message(Self.tree(levels: levels)))
    #expect(exchange.status == status)
  }

  @Test("Hostile 22: text that is not UTF-8 is INVALID_ARGUMENT")
  func text() async throws {
    let exchange = try await answer("Echo", HTTP2Peer.message([0x0a, 0x02, 0xc3, 0x28]))
    #expect(exchange.status == 3)
  }

  @Test("Hostile 22: a million empty children in two megabytes cost bounded memory")
  func children() async throws {
    let children = (0..<1_000_000).flatMap { _ in [0x1a, 0] as [UInt8] }
    let exchange = try await answer(
      "EchoTree", HTTP2Peer.message([0x0a] + Self.varint(children.count) + children), megabytes: 320)
    #expect(exchange.status == 0 || exchange.status == 8)
  }

  @Test(
    "Hostile 23: absurd timeouts are refused, are over at once, or mean for ever",
    arguments: [
      ("0n", 4), ("00000000H", 4), ("1n", 4), ("99999999H", 0), ("99999999M", 0), ("99999999S", 0), ("100000000S", 3),
      ("18446744073709551616S", 3), ("-1S", 3), ("1e9S", 3), ("S", 3), ("1", 3), ("٣S", 3),
    ])
  func timeouts(_ timeout: String, _ status: Int) async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.call(1, "Echo", headers: [("grpc-timeout", timeout)])
      #expect(try await peer.response(1).status == status)
      try await peer.probe(3)
      peer.close()
    }
  }

  @Test("Hostile 23: the server's own bound holds against a timeout of eleven thousand years")
  func boundedTimeout() async throws {
    var configuration = RPCServerConfiguration()
    configuration.maximumCallDuration = .milliseconds(200)
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.call(1, "Sleep", headers: [("grpc-timeout", "99999999H")])
      #expect(try await peer.response(1).status == 4)
      try await server.handlers.cancelled.reaches(1)
      peer.close()
    }
  }
}
