import EventLoop
import RPC
import RPCClient
import RPCServer
import Synchronization
import TestAPI
import TestSupport
import Testing

@Suite("Deadlines and cancellation")
struct DeadlineTests {
  @Test("The client gives up at its deadline, within 250 ms, and the handler is cancelled")
  func client() async throws {
    try await EchoServer.call { client, server in
      _ = try await client.echo()
      let elapsed = await leastTime(within: .milliseconds(450)) {
        let error = await #expect(throws: RPCError.self) { _ = try await client.sleep(options: .timeout(.milliseconds(200))) }
        #expect(error?.code == .deadlineExceeded)
      }
      #expect(elapsed >= .milliseconds(199) && elapsed < .milliseconds(450))
      try await server.handlers.cancelled.reaches(1)
    }
  }

  @Test("The server itself ends a call whose deadline passes, within 250 ms, and cancels its handler")
  func server() async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      var stream: UInt32 = 1
      let elapsed = try await leastTime(within: .milliseconds(350)) {
        peer.call(stream, "Sleep", headers: [("grpc-timeout", "100m")])
        let response = try await peer.response(stream)
        #expect(response.status == 4)
        stream += 2
      }
      #expect(elapsed >= .milliseconds(99) && elapsed < .milliseconds(350))
      try await server.handlers.cancelled.reaches(1)
      try await peer.probe(stream)
      peer.close()
    }
  }

  @Test("A call whose request never becomes whole ends at its deadline too")
  func unfinishedRequest() async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.send(.headers(1, HTTP2Peer.grpcHeaders("Echo", [("grpc-timeout", "100m")])))
      peer.send(.data(1, [0, 0, 0]))
      #expect(try await peer.response(1).status == 4)
      try await peer.probe(3)
      peer.close()
    }
  }

  @Test("A deadline that has passed already never reaches a handler", arguments: ["0n", "1n", "00000000m"])
  func passed(_ timeout: String) async throws {
    let handlers = EchoHandlers()
    try await EchoServer.run(handlers: handlers) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.call(1, "Sleep", headers: [("grpc-timeout", timeout)])
      #expect(try await peer.response(1).status == 4)
      #expect(handlers.sleeping.value == handlers.cancelled.value)
      peer.close()
    }
  }

  @Test(
    "A malformed timeout is refused", arguments: ["", "1", "S", "-1S", "+1S", "1.5S", "1s", "1 S", "123456789S", "1SS", "0x1S"])
  func malformed(_ timeout: String) async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.call(1, "Echo", headers: [("grpc-timeout", timeout)])
      #expect(try await peer.response(1).status == 3)
      try await peer.probe(3)
      peer.close()
    }
  }

  @Test(
    "Each unit is understood, up to eight digits",
    arguments: ["99999999H", "99999999M", "99999999S", "99999999m", "9999999u", "0009999S", "99999999n"])
  func units(_ timeout: String) async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.call(1, "Echo", headers: [("grpc-timeout", timeout)])
      #expect(try await peer.response(1).status == 0)
      peer.close()
    }
  }

  @Test("A server's own bound holds where the caller sets none, or a later one", arguments: [nil, "1H"])
  func bound(_ timeout: String?) async throws {
    var configuration = RPCServerConfiguration()
    configuration.maximumCallDuration = .milliseconds(100)
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.call(1, "Sleep", headers: timeout.map { [("grpc-timeout", $0)] } ?? [])
      #expect(try await peer.response(1).status == 4)
      try await server.handlers.cancelled.reaches(1)
      peer.close()
    }
  }

  @Test("A call made while serving another inherits what is left of its deadline")
  func propagation() async throws {
    let seen = Mutex<Duration?>(nil)
    let downstream = EchoHandlers { _, call in seen.withLock { $0 = call.deadline?.timeLeft } }
    let inner = try EchoServer.start(handlers: downstream)
    let way = Mutex<ClientChannel?>(nil)
    let upstream = EchoHandlers { _, _ in
      try await EventLoop.current?.sleep(for: .milliseconds(100))
      guard let channel = way.withLock({ $0 }) else { return }
      // The later deadline of the call itself does not count.
      _ = try await EchoService.Client(channel).echo(options: .timeout(.seconds(60)))
    }
    try await EchoServer.call(handlers: upstream) { client, server in
      let channel = try inner.channel(on: server.group)
      way.withLock { $0 = channel }
      _ = try await client.echo(options: .timeout(.seconds(30)))
      let left = try #require(seen.withLock { $0 })
      #expect(left <= .milliseconds(29_900) && left > .seconds(5))
      await channel.close()
    }
    try await inner.stop()
  }

  @Test("A cancelled client task ends with CANCELLED and cancels the handler")
  func cancellation() async throws {
    try await EchoServer.call { client, server in
      let outcome = Mutex<StatusCode?>(nil)
      let task = EventLoop.current?.spawn {
        do throws(RPCError) { _ = try await client.sleep() } catch { outcome.withLock { $0 = error.code } }
      }
      try await server.handlers.sleeping.reaches(1)
      task?.cancel()
      await task?.value
      #expect(outcome.withLock { $0 } == .cancelled)
      try await server.handlers.cancelled.reaches(1)
      _ = try await client.echo()
    }
  }

  @Test("A client that cancels 300 calls on one connection keeps it")
  func manyCancellations() async throws {
    try await EchoServer.call { client, server in
      let tasks = (1...300).map { _ in EventLoop.current?.spawn { _ = try? await client.sleep() } }
      try await server.handlers.sleeping.reaches(300)
      for task in tasks { task?.cancel() }
      try await server.handlers.cancelled.reaches(300)
      _ = try await client.echo()
      #expect(server.connections.value == 1)
    }
  }

  @Test("The loss of a connection cancels its handlers", arguments: [false, true])
  func loss(_ abruptly: Bool) async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      for stream in 0..<10 { peer.call(UInt32(stream * 2 + 1), "Sleep") }
      try await server.handlers.sleeping.reaches(10)
      peer.close(abruptly: abruptly)
      try await server.handlers.cancelled.reaches(10)
      try await server.connections.wait { $0 == 0 }
    }
  }

  @Test("A reset stream cancels its handler and no other")
  func reset() async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.call(1, "Sleep")
      peer.call(3, "Sleep")
      try await server.handlers.sleeping.reaches(2)
      peer.send(.reset(1, 8))
      try await server.handlers.cancelled.reaches(1)
      try await peer.probe(5)
      #expect(server.handlers.cancelled.value == 1)
      peer.close()
    }
  }
}
