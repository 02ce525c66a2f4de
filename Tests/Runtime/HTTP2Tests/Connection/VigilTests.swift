import EventLoop
import HTTP2
import RPCServer
import TestSupport
import Testing

/// What the passing of time does to a connection. Limits are short, and patience is long.
@Suite("Connections over time")
struct VigilTests {
  private func server(
    _ change: @escaping (inout HTTP2Limits) -> Void, tls: Bool = false,
    _ body: @escaping @Sendable (EchoServer, EventLoop) async throws -> Void
  ) async throws {
    var configuration = RPCServerConfiguration()
    change(&configuration.http2)
    try await EchoServer.run(tls: tls, configuration: configuration) { server, clients in
      try await body(server, clients.loops[0])
    }
  }

  private static func pings(_ peer: HTTP2Peer) -> Int {
    peer.frames.filter { $0.type == HTTP2Frame.Kind.ping.rawValue && $0.flags == 0 }.count
  }

  // MARK: Keepalive

  @Test("A silent peer that answers no PING is given up, with its calls")
  func keepaliveDead() async throws {
    try await server({
      $0.keepaliveTime = .milliseconds(100)
      $0.keepaliveTimeout = .milliseconds(200)
    }) { server, loop in
      let peer = try await HTTP2Peer.open(to: server.address, on: loop)
      peer.call(1, "Sleep")
      try await server.handlers.sleeping.reaches(1)
      peer.isPolite = false
      try await peer.closed(within: .seconds(30))
      #expect(Self.pings(peer) >= 1)
      try await server.handlers.cancelled.reaches(1)
      try await server.connections.wait { $0 == 0 }
      #expect(server.failures.map(\.code) == [.keepaliveTimeout])
      peer.close()
    }
  }

  @Test("A silent peer that answers its PINGs stays")
  func keepaliveAlive() async throws {
    try await server({
      $0.keepaliveTime = .milliseconds(50)
      $0.keepaliveTimeout = .seconds(30)
    }) { server, loop in
      let peer = try await HTTP2Peer.open(to: server.address, on: loop)
      peer.call(1, "Sleep")
      try await peer.wait("five PINGs") { Self.pings(peer) >= 5 }
      #expect(!peer.isClosed && server.failures.isEmpty)
      peer.close()
    }
  }

  @Test("Two hours of silence are what a server waits for by default, and nothing at all when it is told so")
  func keepaliveDefault() async throws {
    #expect(HTTP2Limits().keepaliveTime == .seconds(7_200))
    #expect(HTTP2Limits().keepaliveTimeout == .seconds(20))
    try await server({ $0.keepaliveTime = nil }) { server, loop in
      let peer = try await HTTP2Peer.open(to: server.address, on: loop)
      try await peer.probe(1)
      peer.close()
    }
  }

  // MARK: Headers

  @Test("A peer whose headers come in two reads after long idleness is not taken for a slow one (RF-02)")
  func headersAfterIdleness() async throws {
    try await server({ $0.headerTimeout = .seconds(1) }) { server, loop in
      let peer = try await HTTP2Peer.open(to: server.address, on: loop)
      try await peer.probe(1)
      // The server's loop waits for longer than a header list may take, and has nothing else to do.
      try await loop.sleep(for: .milliseconds(1_300))
      let head = HTTP2Frame.headers(3, HTTP2Peer.grpcHeaders("Echo")).bytes
      peer.send(HTTP2Frame(.ping, [UInt8](repeating: 1, count: 8)).bytes + head.prefix(20))
      try await peer.wait("the first read") {
        peer.isClosed || peer.frames.contains { $0.type == HTTP2Frame.Kind.ping.rawValue && $0.flags == 1 }
      }
      peer.send(Array(head.dropFirst(20)))
      peer.send(.data(3, HTTP2Peer.message([]), ends: true))
      let response = try await peer.response(3)
      #expect(response.status == 0 && server.failures.isEmpty)
      peer.close()
    }
  }

  // MARK: Age

  @Test("An old connection is drained: its calls go on for the grace, and are cut off then")
  func age() async throws {
    try await server({
      $0.maximumAge = .milliseconds(200)
      $0.ageGrace = .milliseconds(400)
    }) { server, loop in
      let idle = try await HTTP2Peer.open(to: server.address, on: loop)
      let busy = try await HTTP2Peer.open(to: server.address, on: loop)
      busy.call(1, "Sleep")
      try await server.handlers.sleeping.reaches(1)
      try await idle.closed(within: .seconds(30))
      #expect(idle.goawayCode == 0)
      try await busy.closed(within: .seconds(30))
      #expect(busy.goawayCode == 0)
      try await server.handlers.cancelled.reaches(1)
      try await server.connections.wait { $0 == 0 }
      #expect(server.failures.map(\.code) == [.maximumAge])
      idle.close()
      busy.close()
    }
  }

  @Test("A call that ends within the grace is answered on the old connection, and no new one is taken there")
  func grace() async throws {
    try await server({
      $0.maximumAge = .milliseconds(100)
      $0.ageGrace = .seconds(60)
    }) { server, loop in
      let peer = try await HTTP2Peer.open(to: server.address, on: loop)
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Chat")))
      peer.send(.data(1, HTTP2Peer.message([])))
      let goaway = HTTP2Frame.Kind.goaway.rawValue
      try await peer.wait("both GOAWAYs") { peer.frames.filter { $0.type == goaway }.count == 2 }
      peer.send(.data(1, HTTP2Peer.message([0x0a, 1, 0x61]), ends: true))
      let response = try await peer.response(1)
      #expect(response.status == 0 && HTTP2Peer.messages(in: response.body).count == 2)
      try await peer.closed(within: .seconds(30))
      #expect(server.failures.isEmpty)
      peer.close()
    }
  }

  @Test("The age of each connection is within a tenth of what is configured, and not the same for all")
  func jitter() {
    var generator = SystemRandomNumberGenerator()
    let ages = (0..<200).map { _ in ConnectionAge.jittered(.seconds(1_000), using: &generator) }
    #expect(ages.allSatisfy { $0 >= .seconds(900) && $0 <= .seconds(1_100) })
    #expect(Set(ages).count > 100)
  }

  // MARK: Idleness

  @Test("A connection is idle from the end of its last call, whatever else its peer says")
  func idleSincePings() async throws {
    try await server({
      $0.idleTimeout = .milliseconds(300)
      $0.drainNotice = .milliseconds(20)
    }) { server, loop in
      let peer = try await HTTP2Peer.open(to: server.address, on: loop)
      try await peer.probe(1)
      // A sign of life now and then is no use of the connection.
      let chatter = loop.spawn {
        while !peer.isClosed {
          peer.send(HTTP2Frame(.ping, [8, 7, 6, 5, 4, 3, 2, 1]))
          try? await loop.sleep(for: .milliseconds(50))
        }
      }
      try await peer.closed(within: .seconds(30))
      #expect(peer.goawayCode == 0)
      await chatter.value
      peer.close()
    }
  }

  // MARK: Stalls

  private static let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  private func progress(_ steps: [(at: Int, bytes: Int)], limit: Duration = .seconds(30)) -> [Bool] {
    var progress = StreamProgress()
    return steps.map { step in
      progress.bytes += step.bytes
      return progress.isStalled(Self.start.advanced(by: .seconds(step.at)), limit)
    }
  }

  @Test("What has not moved for the limit has stalled, and not a moment before")
  func stall() {
    #expect(progress([(0, 0), (29, 0), (30, 0)]) == [false, false, true])
  }

  @Test("1,024 bytes in the time are progress; 1,023 are not")
  func leastProgress() {
    #expect(progress([(0, 0), (10, 1_023), (30, 0)]) == [false, false, true])
    #expect(progress([(0, 0), (10, 1_024), (30, 0), (40, 0)]) == [false, false, false, true])
    #expect(progress([(0, 0), (10, 512), (20, 512), (30, 0), (49, 0), (50, 0)]) == [false, false, false, false, false, true])
  }

  @Test("What had nothing to do in between has not stalled")
  func rest() {
    var progress = StreamProgress()
    var answers = [progress.isStalled(Self.start, .seconds(30))]
    progress.rest()
    answers.append(progress.isStalled(Self.start.advanced(by: .seconds(100)), .seconds(30)))
    answers.append(progress.isStalled(Self.start.advanced(by: .seconds(130)), .seconds(30)))
    #expect(answers == [false, false, true])
  }
}
