import EventLoop
import Glibc
import HTTP2
import TestSupport
import Testing

/// A connection that asks its peer for a sign of life.
@Suite("PING")
struct PingTests {
  /// What the callbacks of some PINGs were told, by number. Confined to the test's loop.
  private final class Answers {
    var times: [Int: Duration?] = [:]
    func note(_ number: Int) -> (Duration?) -> Void { { self.times[number] = .some($0) } }
  }

  private static let ping = HTTP2Frame.Kind.ping.rawValue
  private static func answer(_ frame: HTTP2Frame) -> HTTP2Frame {
    HTTP2Frame(.ping, flags: HTTP2Frame.acknowledgement, frame.payload)
  }

  @Test("Each PING gets its own answer, in whatever order they come, and one that nobody asked for means nothing")
  func order() async throws {
    try await ServedPair.run { pair in
      let answers = Answers()
      pair.peer.isPolite = false
      for number in 0..<3 { pair.connection.ping(answers.note(number)) }
      try await pair.peer.wait("three PINGs") { pair.peer.frames.filter { $0.type == Self.ping }.count == 3 }
      let asked = pair.peer.frames.filter { $0.type == Self.ping }
      #expect(Set(asked.map(\.payload)).count == 3)
      #expect(answers.times.isEmpty)
      pair.peer.send(HTTP2Frame(.ping, flags: HTTP2Frame.acknowledgement, [UInt8](repeating: 9, count: 8)))
      pair.peer.send(Self.answer(asked[2]))
      // The answer to this one proves that the ones before have been read.
      pair.peer.send(HTTP2Frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8]))
      try await pair.peer.wait("an answer") { pair.peer.frames.contains { $0.type == Self.ping && $0.flags == 1 } }
      #expect(answers.times.keys.sorted() == [2])
      pair.peer.send(Self.answer(asked[0]), Self.answer(asked[2]), Self.answer(asked[1]))
      pair.peer.send(HTTP2Frame(.ping, [8, 7, 6, 5, 4, 3, 2, 1]))
      try await pair.peer.wait("an answer") { pair.peer.frames.count { $0.type == Self.ping && $0.flags == 1 } == 2 }
      #expect(answers.times.count == 3)
      for time in answers.times.values { #expect(time.map { $0 >= .zero && $0 < .seconds(20) } == true) }
    }
  }

  @Test("A PING without an answer is told nil when the connection closes, and at once on a closed connection")
  func close() async throws {
    try await ServedPair.run { pair in
      let answers = Answers()
      pair.peer.isPolite = false
      pair.connection.ping(answers.note(0))
      try await pair.peer.wait("the PING") { pair.peer.frames.contains { $0.type == Self.ping } }
      #expect(answers.times.isEmpty)
      pair.connection.close()
      #expect(answers.times.count == 1 && answers.times[0] == .some(nil))
      pair.connection.ping(answers.note(1))
      #expect(answers.times.count == 2 && answers.times[1] == .some(nil))
    }
  }

  @Test("The answer to a PING of ours does not cut the notice of a drain short")
  func drain() async throws {
    var limits = HTTP2Limits()
    limits.drainNotice = .seconds(60)
    try await ServedPair.run(limits: limits) { pair in
      let goaway = HTTP2Frame.Kind.goaway.rawValue
      let answers = Answers()
      pair.peer.isPolite = false
      pair.connection.ping(answers.note(0))
      pair.connection.drain()
      try await pair.peer.wait("both PINGs") { pair.peer.frames.count { $0.type == Self.ping } == 2 }
      let asked = pair.peer.frames.filter { $0.type == Self.ping }
      let ours = try #require(asked.first { $0.payload.contains { $0 != 0 } })
      let drains = try #require(asked.first { $0.payload.allSatisfy { $0 == 0 } })
      pair.peer.send(Self.answer(ours), HTTP2Frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8]))
      try await pair.peer.wait("an answer") { pair.peer.frames.contains { $0.type == Self.ping && $0.flags == 1 } }
      #expect(answers.times.count == 1)
      #expect(pair.peer.frames.count { $0.type == goaway } == 1)
      pair.peer.send(Self.answer(drains))
      try await pair.peer.closed()
      #expect(pair.peer.frames.count { $0.type == goaway } == 2)
    }
  }

  @Test("A client's connection asks its server, also before the first request")
  func client() async throws {
    final class Client: HTTP2ConnectionDelegate {
      let answers = Answers()
      var isClosed = false
      func connectionIsReady(_ connection: HTTP2Connection) { connection.ping(answers.note(0)) }
      func connection(_ connection: HTTP2Connection, opened stream: HTTP2Stream) {}
      func connectionIsDraining(_ connection: HTTP2Connection) {}
      func connectionClosed(_ connection: HTTP2Connection, _ error: HTTP2Error?) { isClosed = true }
    }
    try await EchoServer.run { server, clients in
      let loop = clients.loops[0]
      let client = Client()
      let connection = try HTTP2Connection.connect(
        to: server.address, tls: nil, serverName: nil, resources: HTTP2LoopResources(loop), delegate: client)
      // Not ready yet: there is nobody to ask.
      connection.ping(client.answers.note(1))
      #expect(client.answers.times[1] == .some(nil))
      let probe = try await HTTP2Peer.open(to: server.address, on: loop)
      for stream in 0..<200 where client.answers.times[0] == nil { try await probe.probe(UInt32(stream * 2 + 1)) }
      #expect(client.answers.times[0].flatMap { $0 } != nil)
      probe.close()
      connection.close()
      #expect(client.isClosed)
    }
  }
}
