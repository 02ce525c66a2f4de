import EventLoop
import RPC
import RPCClient
import Synchronization
import TestAPI
import TestSupport
import Testing

/// gRFC A6 over a socket: calls of many messages, which are kept for another attempt.
@Suite("Retry of streams")
struct RetriedStreamTests {
  private typealias Methods = EchoService.Methods
  private static let config = RetryWireTests.config()

  /// A `Sum` of the numbers one to `count`.
  private func sum(_ channel: ClientChannel, _ count: Int) async throws -> Int64 {
    try await channel.stream(Methods.sum, .timeout(.seconds(20))) { call in
      for number in 0..<count { try await call.send(SumRequest(number: Int64(number) + 1)) }
      try await call.finishSending()
      var responses = call.responses
      return try await responses.only().total
    }
  }

  private func code(_ body: () async throws -> Void) async -> StatusCode? {
    do {
      try await body()
      return nil
    } catch { return (error as? RPCError)?.code ?? .unknown }
  }

  /// The frame of one `SumRequest`.
  private static func frame(_ number: UInt8) -> [UInt8] { HTTP2Peer.message([8, number]) }

  /// A `SumResponse` with the total 42.
  private static let total: ScriptedServer.Script = { peer, id in
    peer.send(
      .headers(id, HPACK.block([(":status", "200"), ("content-type", "application/grpc")])),
      .data(id, HTTP2Peer.message([8, 42])),
      .headers(id, HPACK.block([("grpc-status", "0")]), ends: true))
  }

  @Test("All that was sent is sent again")
  func replay() async throws {
    let scripts = [ScriptedServer.fails(.unavailable), ScriptedServer.hangsUp, Self.total]
    try await ScriptedServer.run(scripts, config: Self.config) { server, channel in
      let total = try await sum(channel, 3)
      #expect(total == 42)
      #expect(server.attempts == [nil, "1", "2"])
      let whole = Self.frame(1) + Self.frame(2) + Self.frame(3)
      #expect(server.requests.map(\.body) == [whole, whole, whole])
    }
  }

  @Test("A failure in the middle of sending is found by the next request, and nothing is lost or doubled")
  func middle() async throws {
    let failed = Tally("first attempt failed")
    let bodies = Mutex<[[UInt8]]>([])
    try await Fleet.run(0) { fleet in
      let server = try RawServer(on: fleet.clients) { peer in
        peer.send(.settings([]))
        try await peer.wait("two requests") { peer.isClosed || (peer.streams[1]?.body.count ?? 0) >= 2 * Self.frame(1).count }
        ScriptedServer.fails(.unavailable)(peer, 1)
        try await peer.wait("the reset") { peer.streams[1]?.resetCode != nil }
        failed.add()
        try await peer.wait("the whole") { peer.isClosed || peer.streams[3]?.isEnded == true }
        bodies.withLock { $0 = [peer.streams[1]?.body ?? [], peer.streams[3]?.body ?? []] }
        Self.total(peer, 3)
        try await peer.closed()
      }
      var configuration = ClientChannelConfiguration.quick()
      configuration.serviceConfig = try ServiceConfig(json: Self.config)
      let channel = ClientChannel(
        to: .addresses([server.address], authority: "echo.test"), on: fleet.clients, configuration: configuration)
      let result = try await channel.stream(Methods.sum, .timeout(.seconds(20))) { call in
        try await call.send(SumRequest(number: 1))
        try await call.send(SumRequest(number: 2))
        try await failed.reaches(1)
        try await call.send(SumRequest(number: 3))
        try await call.send(SumRequest(number: 4))
        try await call.finishSending()
        var responses = call.responses
        return try await responses.only().total
      }
      #expect(result == 42)
      let first = Self.frame(1) + Self.frame(2)
      #expect(bodies.withLock { $0 } == [first, first + Self.frame(3) + Self.frame(4)])
      await channel.close()
      server.close()
    }
  }

  @Test("What was sent is kept up to the limit, not a byte beyond", arguments: [(21, true), (20, false)])
  func limit(_ bytes: Int, _ isKept: Bool) async throws {
    // Three messages of two bytes behind prefixes of five are 21.
    var configuration = ClientChannelConfiguration.quick()
    configuration.retryBufferBytes = bytes
    let scripts = [ScriptedServer.fails(.unavailable), Self.total]
    try await ScriptedServer.run(scripts, config: Self.config, configuration: configuration) { server, channel in
      let outcome = await code { _ = try await sum(channel, 3) }
      #expect(outcome == (isKept ? nil : .unavailable))
      #expect(server.requests.count == (isKept ? 2 : 1))
    }
  }

  @Test("Once the response has begun its failure is final")
  func committed() async throws {
    try await ScriptedServer.run([ScriptedServer.failsLate(.unavailable), Self.total], config: Self.config) { server, channel in
      let outcome = await code { _ = try await sum(channel, 1) }
      #expect(outcome == .unavailable)
      #expect(server.requests.count == 1)
    }
  }

  @Test("A refused stream is made again without a policy, with all that was sent")
  func refused() async throws {
    try await ScriptedServer.run([ScriptedServer.resets(7), Self.total]) { server, channel in
      let total = try await sum(channel, 2)
      #expect(total == 42)
      #expect(server.requests.map(\.body) == [Self.frame(1) + Self.frame(2), Self.frame(1) + Self.frame(2)])
    }
  }

  @Test("A sender and a receiver that find the same failure make one further attempt together")
  func together() async throws {
    try await ScriptedServer.run([ScriptedServer.fails(.unavailable), Self.total], config: Self.config) { server, channel in
      let total = try await channel.stream(Methods.sum, .timeout(.seconds(20))) { call in
        try await withThrowingTaskGroup(of: Int64.self) { tasks in
          tasks.addTask {
            var responses = call.responses
            return try await responses.only().total
          }
          try await call.send(SumRequest(number: 1))
          try await call.finishSending()
          return try await tasks.next() ?? 0
        }
      }
      #expect(total == 42)
      #expect(server.attempts == [nil, "1"])
    }
  }

  @Test("Giving the call up ends the wait for the next attempt")
  func givenUp() async throws {
    try await ScriptedServer.run([ScriptedServer.fails(.unavailable)], config: RetryWireTests.config(backoff: "10s")) {
      server, channel in
      let outcome = await code {
        try await channel.stream(Methods.sum, .timeout(.seconds(20))) { call in
          try await call.finishSending()
          try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
              var responses = call.responses
              _ = try await responses.only()
            }
            try await server.served.reaches(1)
            call.cancel()
            try await tasks.waitForAll()
          }
        }
      }
      #expect(outcome == .cancelled)
    }
  }

  @Test("The response's headers are those of the attempt that succeeds")
  func headers() async throws {
    let answers: ScriptedServer.Script = { peer, id in
      peer.send(
        .headers(id, HPACK.block([(":status", "200"), ("content-type", "application/grpc"), ("x-attempt", "second")])),
        .data(id, HTTP2Peer.message([8, 1])), .headers(id, HPACK.block([("grpc-status", "0"), ("x-end", "yes")]), ends: true))
    }
    try await ScriptedServer.run([ScriptedServer.fails(.unavailable, ("x-attempt", "first")), answers], config: Self.config) {
      server, channel in
      try await channel.stream(Methods.count, .timeout(.seconds(20))) { call in
        try await call.send(CountRequest(to: 1))
        try await call.finishSending()
        #expect(try await call.initialMetadata()["x-attempt"] == "second")
        var numbers: [Int32] = []
        for try await response in call.responses { numbers.append(response.number) }
        #expect(numbers == [1])
        #expect(await call.trailingMetadata()["x-end"] == "yes")
      }
      #expect(server.attempts == [nil, "1"])
    }
  }
}
