import EventLoop
import HTTP2
import RPC
import RPCServer
import TestAPI
import TestSupport
import Testing

/// Peers that ask and do not take the answers, or announce much and do not send it.
@Suite("Hostile: slow readers and writers")
struct SlowResponseTests {
  /// `Count` with 20 KB in each message: the second one that waits makes the handler wait too.
  private static func count(to last: [UInt8]) -> [UInt8] { [0x08] + last + [0x10, 0xa0, 0x9c, 0x01] }
  /// The same to 1,000,000.
  private static let endless = count(to: [0xc0, 0x84, 0x3d])

  private func run(
    _ change: (inout RPCServerConfiguration) -> Void,
    _ body: @escaping @Sendable (EchoServer, EventLoop) async throws -> Void
  ) async throws {
    var configuration = RPCServerConfiguration()
    change(&configuration)
    try await EchoServer.run(configuration: configuration) { server, clients in
      try await body(server, clients.loops[0])
    }
  }

  @Test("Hostile 18: a response whose window stays shut, or opens byte by byte, is reset, and its neighbours are served")
  func shutWindow() async throws {
    try await run({ $0.http2.writeStallTimeout = .milliseconds(800) }) { server, loop in
      let peer = try await HTTP2Peer.open(to: server.address, on: loop, settings: [(4, 0)])
      peer.call(1, "Count", Self.endless)
      peer.call(3, "Count", Self.endless)
      try await server.handlers.counted.reaches(2)
      let dripping = loop.spawn {
        while peer.streams[3]?.resetCode == nil && !peer.isClosed {
          peer.send(.windowUpdate(3, 1))
          try? await loop.sleep(for: .milliseconds(50))
        }
      }
      // A call that is read in time is not touched.
      peer.send(.headers(5, HTTP2Peer.grpcHeaders("Chat")), .windowUpdate(5, 1_000))
      try await peer.wait("the resets", within: .seconds(30)) {
        peer.streams[1]?.resetCode != nil && peer.streams[3]?.resetCode != nil
      }
      #expect(peer.streams[1]?.resetCode == 8 && peer.streams[3]?.resetCode == 8)
      try await server.handlers.ended.reaches(2)
      peer.send(.data(5, HTTP2Peer.message([0x0a, 1, 0x61]), ends: true))
      let chat = try await peer.response(5)
      #expect(chat.status == 0)
      #expect(server.failures.isEmpty && server.connections.value == 1)
      await dripping.value
      peer.close()
    }
  }

  @Test("Hostile 18: a connection whose socket takes nothing is closed")
  func deafSocket() async throws {
    try await run({ $0.http2.writeStallTimeout = .milliseconds(800) }) { server, loop in
      let peer = try await HTTP2Peer.open(to: server.address, on: loop, receiveBuffer: 4_096)
      let other = try await HTTP2Peer.open(to: server.address, on: loop)
      peer.pauseReading(true)
      for number in 0..<20 { peer.call(UInt32(number * 2 + 1), "Count", Self.endless) }
      try await server.connections.wait(within: .seconds(30)) { $0 == 1 }
      #expect(server.failures.map(\.code) == [.stalled])
      try await server.handlers.ended.reaches(20)
      try await other.probe(1)
      peer.close()
      other.close()
    }
  }

  @Test("Hostile 18: responses that nobody reads wait in a bounded memory, of a connection and of the process, and then go on")
  func responseBudget() async throws {
    try await run({
      $0.http2.responseBytes = 1 << 20
      $0.http2.processResponseBytes = 3 << 20
    }) { server, loop in
      let probe = try await Probe(to: server.address)
      var peers: [HTTP2Peer] = []
      for _ in 0..<8 {
        let peer = try await HTTP2Peer.open(to: server.address, on: loop, settings: [(4, 0)])
        // A hundred streams of which each would have 40 KB wait.
        for number in 0..<100 { peer.call(UInt32(number * 2 + 1), "Count", Self.count(to: [5])) }
        peers.append(peer)
      }
      // A connection's budget holds the messages of 26 streams, the process's those of 79, and two more on each connection.
      try await server.handlers.counted.reaches(70)
      for peer in peers { try await Self.roundTrip(peer) }
      let counted = server.handlers.counted.value
      #expect(counted <= 110, "streams of 800 whose messages wait")
      // Whoever is read goes on, to its end.
      for number in 0..<100 { peers[0].send(.windowUpdate(UInt32(number * 2 + 1), 0x7fff_fff0)) }
      for peer in peers.dropFirst() { peer.close() }
      for number in 0..<100 {
        let response = try await peers[0].response(UInt32(number * 2 + 1), within: .seconds(60))
        #expect(response.status == 0)
      }
      peers[0].close()
      let report = try await probe.finish()
      report.check()
    }
  }

  @Test("Hostile 18: a unary answer for which there is no memory is RESOURCE_EXHAUSTED, and says when to come again")
  func unaryBudget() async throws {
    try await run({ $0.http2.responseBytes = 100_000 }) { server, loop in
      let peer = try await HTTP2Peer.open(to: server.address, on: loop, settings: [(4, 0)])
      let message = [0x12, 0xe0, 0xd4, 0x03] + [UInt8](repeating: 7, count: 60_000)
      for stream: UInt32 in [1, 3, 5] {
        peer.call(stream, "Echo", message)
        try await Self.roundTrip(peer)
      }
      let refused = try await peer.response(5)
      #expect(refused.status == 8 && refused.value("grpc-retry-pushback-ms") == "1000")
      #expect(server.shed == [.responseBytes])
      for stream: UInt32 in [1, 3] {
        peer.send(.windowUpdate(stream, 100_000))
        let response = try await peer.response(stream)
        #expect(response.status == 0 && HTTP2Peer.messages(in: response.body) == [message])
      }
      peer.close()
    }
  }

  @Test("Hostile 18: large requests that never become whole are bounded in memory and end, and others are served")
  func requestBudget() async throws {
    try await run({
      $0.http2.requestBytes = 4 << 20
      $0.http2.writeStallTimeout = .seconds(1)
    }) { server, loop in
      let probe = try await Probe(to: server.address)
      let peer = try await HTTP2Peer.open(to: server.address, on: loop)
      // Two hundred uploads of 4 MB, each of which stops after 96 KB.
      let chunk = [UInt8](repeating: 1, count: 16_384)
      let streams = (0..<200).map { UInt32($0 * 2 + 1) }
      // The window is told by updates, and opened as far as memory is left.
      var sent = 0
      let credit = { peer.frames.filter { $0.type == 8 && $0.stream == 0 }.reduce(65_535) { $0 + Int($1.number()) } }
      for stream in streams {
        peer.send(.headers(stream, HTTP2Peer.grpcHeaders("Echo")))
        for part in [[0, 0, 0x3d, 0x09, 0]] + [[UInt8]](repeating: chunk, count: 6) where peer.streams[stream]?.isOver != true {
          let total = sent + part.count
          try await peer.wait("a window", within: .seconds(60)) { credit() >= total || peer.streams[stream]?.isOver == true }
          guard credit() >= total else { continue }
          sent = total
          peer.send(.data(stream, part))
        }
      }
      try await peer.wait("the end of all uploads", within: .seconds(60)) {
        streams.allSatisfy { peer.streams[$0]?.isOver == true }
      }
      #expect(streams.allSatisfy { peer.streams[$0]?.status == 8 || peer.streams[$0]?.resetCode == 8 })
      #expect(server.shed.contains(.requestBytes))
      peer.close()
      let report = try await probe.finish()
      report.check()
      let growth = (report.peakMemory - probe.memoryBefore) >> 20
      #expect(growth <= 32 * Scale.memory, "the server's memory grew by so many megabytes")
    }
  }

  @Test("Sixteen large uploads at once on one connection are all served, although only four have room")
  func parallelUploads() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.requestBytes = 16 << 20
    try await EchoServer.call(configuration: configuration) { client, server in
      let text = String(repeating: "u", count: 2 << 20)
      try await withThrowingTaskGroup(of: Void.self) { calls in
        // Code 0 is no failure, and the answer is empty.
        for _ in 0..<16 { calls.addTask { _ = try await client.fail(.init(code: 0, message: text)) } }
        try await calls.waitForAll()
      }
      #expect(server.shed.isEmpty)
    }
  }

  /// The server has handled all that was sent before.
  private static func roundTrip(_ peer: HTTP2Peer) async throws {
    let answers = { peer.frames.filter { $0.type == HTTP2Frame.Kind.ping.rawValue && $0.flags == 1 }.count }
    let before = answers()
    peer.send(HTTP2Frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8]))
    try await peer.wait("a PING's answer", within: .seconds(30)) { answers() > before || peer.isClosed }
  }
}
