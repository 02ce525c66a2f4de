import EventLoop
import RPC
import RPCClient
import RPCServer
import Synchronization
import TestAPI
import TestSupport
import Testing

/// gRFC A6 over a socket: unary calls.
@Suite("Retry of unary calls")
struct RetryWireTests {
  static func config(
    attempts: Int = 3, backoff: String = "0.005s", codes: String = "[\"UNAVAILABLE\"]", throttling: String? = nil
  ) -> String {
    """
    {"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":\(attempts),"initialBackoff":"\(backoff)","maxBackoff":"\(backoff)",
    "backoffMultiplier":2,"retryableStatusCodes":\(codes)}}]\(throttling.map { ",\"retryThrottling\":\($0)" } ?? "")}
    """
  }

  private func call(_ channel: ClientChannel, _ options: CallOptions = .timeout(.seconds(20))) async -> RPCError? {
    await failure(EchoService.Client(channel), options)
  }

  @Test("A call that fails is tried again as its policy says, and tells each time how often it was tried before")
  func again() async throws {
    try await ScriptedServer.run(
      [ScriptedServer.fails(.unavailable), ScriptedServer.fails(.unavailable), ScriptedServer.answers], config: Self.config()
    ) { server, channel in
      let response = try await EchoService.Client(channel).echo(.init(text: "x"), options: .timeout(.seconds(20)))
      #expect(response.text == "y")
      #expect(server.attempts == [nil, "1", "2"])
      #expect(Set(server.requests.map(\.body)) == [HTTP2Peer.message([0x0a, 1, 0x78])])
    }
  }

  @Test("The last attempt's failure is the call's", arguments: [2, 5])
  func exhausted(_ attempts: Int) async throws {
    try await ScriptedServer.run(
      [ScriptedServer.fails(.unavailable, ("grpc-message", "busy"))], config: Self.config(attempts: attempts)
    ) {
      server, channel in
      let error = await call(channel)
      #expect(error?.code == .unavailable && error?.message == "busy")
      #expect(server.requests.count == attempts)
    }
  }

  @Test(
    "Without a policy, with another code, when it is switched off, or once headers have come, there is one attempt",
    arguments: 0..<4)
  func once(_ index: Int) async throws {
    var configuration = ClientChannelConfiguration.quick()
    configuration.retriesFailedCalls = index != 2
    let config = index == 0 ? "{}" : Self.config(codes: index == 1 ? "[\"ABORTED\"]" : "[\"UNAVAILABLE\"]")
    let first = index == 3 ? ScriptedServer.failsLate(.unavailable) : ScriptedServer.fails(.unavailable)
    try await ScriptedServer.run([first, ScriptedServer.answers], config: config, configuration: configuration) {
      server, channel in
      #expect(await call(channel)?.code == .unavailable)
      #expect(server.requests.count == 1)
    }
  }

  @Test("A server may name the wait itself, in place of a far longer one")
  func pushback() async throws {
    let scripts = [ScriptedServer.fails(.unavailable, ("grpc-retry-pushback-ms", "1")), ScriptedServer.answers]
    try await ScriptedServer.run(scripts, config: Self.config(backoff: "600s")) { server, channel in
      #expect(await call(channel) == nil)
      #expect(server.attempts == [nil, "1"])
    }
  }

  @Test("A server may refuse further attempts", arguments: ["-1", "never", ""])
  func noMore(_ text: String) async throws {
    let scripts = [ScriptedServer.fails(.unavailable, ("grpc-retry-pushback-ms", text)), ScriptedServer.answers]
    try await ScriptedServer.run(scripts, config: Self.config()) { server, channel in
      #expect(await call(channel)?.code == .unavailable)
      #expect(server.requests.count == 1)
    }
  }

  @Test("An attempt that could only begin after the deadline is not waited for")
  func deadline() async throws {
    try await ScriptedServer.run([ScriptedServer.fails(.unavailable)], config: Self.config(backoff: "600s")) { server, channel in
      let begin = MonotonicInstant.now()
      #expect(await call(channel, .timeout(.seconds(60)))?.code == .unavailable)
      #expect(MonotonicInstant.now().duration(since: begin) < .seconds(30))
      #expect(server.requests.count == 1)
    }
  }

  @Test("The deadline bounds all attempts together")
  func overall() async throws {
    let silent: ScriptedServer.Script = { _, _ in }
    try await ScriptedServer.run([ScriptedServer.fails(.unavailable), silent], config: Self.config()) { server, channel in
      #expect(await call(channel, .timeout(.milliseconds(150)))?.code == .deadlineExceeded)
      #expect(server.requests.count == 2)
    }
  }

  @Test("Cancelling the task ends the wait for the next attempt")
  func cancelled() async throws {
    try await ScriptedServer.run([ScriptedServer.fails(.unavailable)], config: Self.config(backoff: "10s")) { server, channel in
      let code = Mutex<StatusCode?>(nil)
      let task = EventLoop.current?.spawn { [self] in
        let error = await call(channel)
        code.withLock { $0 = error?.code }
      }
      try await server.served.reaches(1)
      // The answer is on its way; whether it has come does not matter to what the caller is told.
      task?.cancel()
      await task?.value
      #expect(code.withLock { $0 } == .cancelled)
    }
  }

  @Test("When too much fails the whole channel stops to retry, and successes let it start again")
  func throttled() async throws {
    let scripts = [
      ScriptedServer.fails(.unavailable), ScriptedServer.answers, ScriptedServer.fails(.unavailable), ScriptedServer.answers,
      ScriptedServer.fails(.unavailable), ScriptedServer.answers,
    ]
    let config = Self.config(throttling: #"{"maxTokens":3,"tokenRatio":0.5}"#)
    try await ScriptedServer.run(scripts, config: config) { server, channel in
      // Three less one is two, which is more than half; the success makes it two and a half.
      #expect(await call(channel) == nil)
      // One and a half is half: no more.
      #expect(await call(channel)?.code == .unavailable)
      #expect(server.requests.count == 3)
      // Two; then one, which is less.
      #expect(await call(channel) == nil)
      #expect(await call(channel)?.code == .unavailable)
      #expect(server.requests.count == 5)
    }
  }

  @Test("A lost connection is tried again if the policy covers UNAVAILABLE, and only then", arguments: [false, true])
  func lost(_ isCovered: Bool) async throws {
    let config = isCovered ? Self.config() : "{}"
    try await ScriptedServer.run([ScriptedServer.hangsUp, ScriptedServer.answers], config: config) { server, channel in
      let error = await call(channel)
      #expect(error?.code == (isCovered ? nil : .unavailable))
      #expect(server.requests.count == (isCovered ? 2 : 1))
    }
  }

  @Test("A refused stream is tried again once without a policy, not twice")
  func refused() async throws {
    let refuses = ScriptedServer.resets(7)
    try await ScriptedServer.run([refuses, ScriptedServer.answers]) { server, channel in
      #expect(await call(channel) == nil)
      // No server has seen it, so it was not tried before.
      #expect(server.attempts == [nil, nil])
    }
    try await ScriptedServer.run([refuses, refuses, ScriptedServer.answers]) { server, channel in
      #expect(await call(channel)?.code == .unavailable)
      #expect(server.requests.count == 2)
    }
  }

  @Test("A call that waits for room on a connection which goes away is made on the next one, however often")
  func neverSent() async throws {
    let opened = Tally("connections")
    try await Fleet.run(0) { fleet in
      let server = try RawServer(on: fleet.clients) { peer in
        opened.add()
        let number = opened.value
        // One stream at a time: of several calls one is on its way, the others wait.
        peer.send(.settings([(3, 1)]))
        try await peer.wait("a request") { peer.isClosed || peer.streams[1]?.isEnded == true }
        if number == 2 {
          peer.send(HTTP2Frame(.goaway, HTTP2Frame.number(1) + HTTP2Frame.number(0)))
          try await opened.reaches(3)
        } else if number < 4 {
          return
        }
        var id: UInt32 = 1
        while !peer.isClosed {
          ScriptedServer.answers(peer, id)
          id += 2
          try await peer.wait("a request") { [id] in peer.isClosed || peer.streams[id]?.isEnded == true }
        }
      }
      let channel = ClientChannel(
        to: .addresses([server.address], authority: "echo.test"), on: fleet.clients, configuration: .quick())
      let client = EchoService.Client(channel)
      let succeeded = Tally("calls that succeeded")
      let lost = Tally("calls that were lost")
      await withTaskGroup(of: Void.self) { calls in
        for _ in 0..<5 {
          calls.addTask(executorPreference: fleet.clients.loops[0]) {
            switch await failure(client, .init(deadline: .after(.seconds(20)), waitsForReady: true))?.code {
            case nil: succeeded.add()
            case .unavailable: lost.add()
            default: break
            }
          }
        }
      }
      // The first and the third connection each take one call with them that had begun.
      #expect(succeeded.value == 3 && lost.value == 2)
      #expect(opened.value == 4)
      await channel.close()
      server.close()
    }
  }

  @Test("Retry works over every protocol of our own servers", arguments: ClientChannelConfiguration.Wire.allCases)
  func protocols(_ wire: ClientChannelConfiguration.Wire) async throws {
    let seen = Tally("attempts")
    let handlers = EchoHandlers { _, _ in
      seen.add()
      if seen.value < 3 { throw RPCError(.unavailable, "not yet") }
    }
    var configuration = ClientChannelConfiguration.quick()
    configuration.wire = wire
    configuration.serviceConfig = try ServiceConfig(json: Self.config())
    try await EchoServer.call(handlers: handlers, client: configuration) { client, _ in
      let response = try await client.echo(.init(text: "x"), options: .timeout(.seconds(20)))
      #expect(response.text == "x")
      #expect(seen.value == 3)
    }
  }

  @Test("A config's timeout, limits and waiting hold for its methods, at their edge")
  func methodConfig() async throws {
    let config = """
      {"methodConfig":[
        {"name":[{"service":"parley.testing.v1.EchoService","method":"Sleep"}],"timeout":"0.05s"},
        {"name":[{"service":"parley.testing.v1.EchoService"}],"maxRequestMessageBytes":100,"maxResponseMessageBytes":100}
      ]}
      """
    var configuration = ClientChannelConfiguration.quick()
    configuration.serviceConfig = try ServiceConfig(json: config)
    try await EchoServer.call(client: configuration) { client, _ in
      let late = await #expect(throws: RPCError.self) { _ = try await client.sleep() }
      #expect(late?.code == .deadlineExceeded)
      // A tag, a byte of length, and the text.
      _ = try await client.echo(.init(text: String(repeating: "x", count: 98)))
      let large = await #expect(throws: RPCError.self) {
        _ = try await client.echo(.init(text: String(repeating: "x", count: 99)))
      }
      #expect(large?.code == .resourceExhausted && large?.message == "the message has 101 bytes, the limit is 100")
      #expect(large?.details.isEmpty == true)
    }
  }
}
