import EventLoop
import RPCServer
import Synchronization
import TestSupport
import Testing

@Suite("Streamed bodies of plain HTTP")
struct HTTPStreamTests {
  struct Broken: Error {}

  /// What the handlers live through.
  final class Witness: Sendable {
    let pieces = Tally("pieces written")
    let began = Tally("bodies begun")
    let cancelled = Tally("bodies that nobody reads any more")
    let kept = Mutex<HTTPBodyWriter?>(nil)
  }

  private static let piece = (0..<16_384).map { UInt8(truncatingIfNeeded: $0) }

  private static func routes(_ witness: Witness) -> [HTTPRoute] {
    func route(
      _ path: String, byteCount: Int? = nil, _ write: @escaping @Sendable (HTTPBodyWriter) async throws -> Void
    ) -> HTTPRoute {
      HTTPRoute(path) { _ in
        .streamed(200, headers: [("content-type", "audio/wav")], byteCount: byteCount) { writer in
          witness.began.add()
          try await write(writer)
        }
      }
    }
    let many: @Sendable (HTTPBodyWriter) async throws -> Void = { writer in
      for _ in 0..<100 {
        do { try await writer.write(piece) } catch {
          if error is CancellationError { witness.cancelled.add() }
          throw error
        }
        witness.pieces.add()
      }
    }
    return [
      route("/known", byteCount: 1_638_400, many),
      route("/unknown", many),
      route("/large") { try await $0.write([UInt8](repeating: 7, count: 1 << 20)) },
      route("/empty") { _ in },
      route("/none", byteCount: 0) { try await $0.write([]) },
      route("/fails") { _ in throw Broken() },
      route("/breaks") { writer in
        try await writer.write(piece)
        throw Broken()
      },
      route("/breaks-late") { writer in
        for _ in 0..<20 { try await writer.write(piece) }
        throw Broken()
      },
      route("/short", byteCount: 16_385) { try await $0.write(piece) },
      route("/long", byteCount: 16_383) { try await $0.write(piece) },
      route("/detached", byteCount: 1_638_400) { writer in try await Task.detached { try await many(writer) }.value },
      route("/kept") { writer in
        witness.kept.withLock { $0 = writer }
        try await writer.write([1])
      },
    ]
  }

  private func peer(
    settings: [(UInt16, UInt32)] = [(4, 0x7fff_ffff)], expectingIncidents: Int = 0,
    _ body: @escaping @Sendable (HTTP2Peer, Witness) async throws -> Void
  ) async throws {
    let witness = Witness()
    try await EchoServer.run(http: Self.routes(witness)) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0], settings: settings)
      try await body(peer, witness)
      // A server keeps its routes, these keep the writer, and it its server.
      witness.kept.withLock { $0 = nil }
      try await peer.probe(1_001)
      #expect(server.incidents.count == expectingIncidents)
      peer.close()
    }
  }

  private func get(_ peer: HTTP2Peer, _ path: String, _ method: String = "GET") async throws -> HTTP2Peer.Exchange {
    peer.send(.headers(1, HTTP2Peer.httpHeaders(method, path), ends: true))
    return try await peer.response(1)
  }

  private static let whole = [[UInt8]](repeating: piece, count: 100).flatMap { $0 }

  @Test(
    "A streamed body arrives whole and in order, with its length where it was announced (OF-05)",
    arguments: [("/known", "1638400"), ("/unknown", nil), ("/detached", "1638400")])
  func whole(_ path: String, _ length: String?) async throws {
    try await peer { peer, _ in
      let response = try await get(peer, path)
      #expect(response.value(":status") == "200" && response.value("content-type") == "audio/wav")
      #expect(response.value("content-length") == length)
      #expect(response.isEnded && response.body == Self.whole)
    }
  }

  @Test(
    "A body of one large piece, and bodies of nothing, arrive whole",
    arguments: [("/large", 1 << 20), ("/empty", 0), ("/none", 0)])
  func sizes(_ path: String, _ count: Int) async throws {
    try await peer { peer, _ in
      let response = try await get(peer, path)
      #expect(response.value(":status") == "200" && response.isEnded && response.body.count == count)
    }
  }

  @Test(
    "A reader that does not read holds the writer up: beyond the window no more than 32 KiB and one piece are made (OF-05)",
    arguments: ["/known", "/detached"])
  func slowReader(_ path: String) async throws {
    try await peer(settings: [(4, 100_000)]) { peer, witness in
      peer.send(.headers(1, HTTP2Peer.httpHeaders("GET", path), ends: true))
      try await peer.wait("a full window") { (peer.streams[1]?.body.count ?? 0) >= 100_000 }
      // The server's loop has had its turns: what it was going to write is written.
      for stream in stride(from: UInt32(3), to: 13, by: 2) { try await peer.probe(stream) }
      #expect(peer.streams[1]?.body.count == 100_000)
      // 100,000 of the window and 32,768 that wait are 8.1 pieces.
      #expect(witness.pieces.value <= 8)
      peer.send(.windowUpdate(1, 0x7000_0000))
      let response = try await peer.response(1)
      #expect(response.isEnded && response.body == Self.whole)
    }
  }

  @Test("One large piece is held no further than the bound either: it leaves in parts (OF-05)")
  func largePiece() async throws {
    try await peer(settings: [(4, 100_000)]) { peer, _ in
      peer.send(.headers(1, HTTP2Peer.httpHeaders("GET", "/large"), ends: true))
      try await peer.wait("a full window") { (peer.streams[1]?.body.count ?? 0) >= 100_000 }
      peer.send(.windowUpdate(1, 0x7000_0000))
      let response = try await peer.response(1)
      #expect(response.isEnded && response.body == [UInt8](repeating: 7, count: 1 << 20))
    }
  }

  @Test("HEAD is answered with the headers alone, and nobody writes")
  func head() async throws {
    try await peer { peer, witness in
      let response = try await get(peer, "/known", "HEAD")
      #expect(response.value(":status") == "200" && response.value("content-length") == "1638400")
      #expect(response.isEnded && response.body.isEmpty)
      #expect(witness.began.value == 0)
    }
  }

  @Test("An error before the first byte is 500 with an incident")
  func failure() async throws {
    try await peer(expectingIncidents: 1) { peer, _ in
      let response = try await get(peer, "/fails")
      #expect(response.value(":status") == "500")
      #expect(String(decoding: response.body, as: UTF8.self).hasPrefix("internal error, incident "))
    }
  }

  @Test(
    "A body that breaks, or is not as long as announced, is reset: no part is taken for the whole",
    arguments: ["/breaks", "/breaks-late", "/short"])
  func broken(_ path: String) async throws {
    try await peer(expectingIncidents: 1) { peer, _ in
      let response = try await get(peer, path)
      #expect(!response.isEnded && response.resetCode == 2)
      // Nothing that has not left is sent any more.
      #expect(response.value(":status") == (path == "/breaks-late" ? "200" : nil))
    }
  }

  @Test("A body longer than announced is refused before its first byte has left")
  func long() async throws {
    try await peer(expectingIncidents: 1) { peer, _ in
      let response = try await get(peer, "/long")
      #expect(response.value(":status") == "500")
    }
  }

  @Test("A reader that leaves cancels the writer", arguments: ["/known", "/detached"])
  func leaving(_ path: String) async throws {
    try await peer(settings: [(4, 100_000)]) { peer, witness in
      peer.send(.headers(1, HTTP2Peer.httpHeaders("GET", path), ends: true))
      try await peer.wait("a full window") { (peer.streams[1]?.body.count ?? 0) >= 100_000 }
      peer.send(.reset(1, 8))
      try await witness.cancelled.reaches(1)
    }
  }

  @Test("A writer that was kept beyond its body writes nothing more")
  func kept() async throws {
    try await peer { peer, witness in
      let response = try await get(peer, "/kept")
      #expect(response.body == [1])
      let writer = try #require(witness.kept.withLock { $0 })
      await #expect(throws: CancellationError.self) { try await writer.write([2]) }
      #expect(peer.streams[1]?.body == [1])
    }
  }

  @Test("What writes a body can be tried without a server")
  func collected() async throws {
    let response = HTTPServerResponse.streamed(200) { writer in
      try await writer.write([1, 2])
      try await writer.write([3])
    }
    let bytes = try await response.bodyStream?.collected()
    #expect(bytes == [1, 2, 3])
  }
}
