import EventLoop
import Glibc
import HTTP2
import MessagesCore
import RPC
import RPCClient
import RPCServer
import Synchronization
import TestAPI
import TestSupport
import Testing

@Suite("Client channels")
struct ClientChannelTests {
  /// Runs `body` on a loop of its own.
  private func onLoop(_ body: @escaping @Sendable (EventLoopGroup) async throws -> Void) async throws {
    let group = try EventLoopGroup(count: 1, name: "test")
    let result: Result<Void, any Error>
    do { result = .success(try await group.loops[0].perform { try await body(group) }) } catch { result = .failure(error) }
    group.shutDown()
    try result.get()
  }

  private static func quick() -> ClientChannelConfiguration {
    var configuration = ClientChannelConfiguration()
    configuration.backoff.initial = .milliseconds(10)
    configuration.backoff.maximum = .milliseconds(20)
    return configuration
  }

  /// A port on which nobody listens.
  private static func closedPort(_ group: EventLoopGroup) throws -> UInt16 {
    let listener = try Listener(on: SocketAddress("127.0.0.1:0"), group: group) { _, _, _ in }
    let port = listener.address.port ?? 0
    listener.start()
    listener.close()
    return port
  }

  private func failure(_ client: EchoService.Client, _ options: CallOptions = .timeout(.seconds(10))) async -> RPCError? {
    do throws(RPCError) {
      _ = try await client.echo(options: options)
      return nil
    } catch { return error }
  }

  @Test("A port that refuses is UNAVAILABLE at once, in clear text and in TLS", arguments: [false, true])
  func refused(_ tls: Bool) async throws {
    try await onLoop { group in
      let port = try Self.closedPort(group)
      var configuration = ClientChannelConfiguration()
      if tls {
        configuration.tls = try TLSContext(.client(trustRoots: .certificates(.bytes(TestAuthority().certificate))))
      }
      let channel = ClientChannel(to: .host("127.0.0.1", port: port), on: group, configuration: configuration)
      // The listener closes at the loop's next tick.
      try await EventLoop.current?.sleep(for: .milliseconds(1))
      let elapsed = await leastTime(within: .milliseconds(500)) {
        let error = await failure(EchoService.Client(channel))
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("refused") == true)
      }
      #expect(elapsed < .milliseconds(500))
      await channel.close()
    }
  }

  @Test("A Unix socket that is not there is UNAVAILABLE at once")
  func noSocket() async throws {
    try await onLoop { group in
      for path in ["/nowhere/at/all.sock", "/tmp/" + String(repeating: "x", count: 300)] {
        let channel = ClientChannel(to: .unix(path: path), on: group)
        let elapsed = await leastTime(within: .milliseconds(500)) {
          #expect(await failure(EchoService.Client(channel))?.code == .unavailable)
        }
        #expect(elapsed < .milliseconds(500))
        await channel.close()
      }
    }
  }

  @Test("A name that nobody knows is UNAVAILABLE")
  func unknownName() async throws {
    try await onLoop { group in
      let channel = ClientChannel(to: .host("does-not-exist.invalid", port: 1), on: group)
      let error = await failure(EchoService.Client(channel), .timeout(.seconds(20)))
      #expect(error?.code == .unavailable || error?.code == .deadlineExceeded)
      await channel.close()
    }
  }

  @Test("A server that says nothing is given up after the connect timeout")
  func silentServer() async throws {
    try await onLoop { group in
      let server = try RawServer(on: group) { peer in try? await peer.closed() }
      var configuration = Self.quick()
      configuration.connectTimeout = .milliseconds(100)
      let channel = ClientChannel(to: .host("127.0.0.1", port: server.port), on: group, configuration: configuration)
      let error = await failure(EchoService.Client(channel))
      #expect(error?.code == .unavailable)
      await channel.close()
      server.close()
    }
  }

  @Test("After a restart of the server the channel connects again")
  func restart() async throws {
    try await onLoop { group in
      let path = "/tmp/parley-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
      let first = try EchoServer.start(on: "unix:" + path)
      let channel = try first.channel(on: group, configuration: Self.quick())
      let client = EchoService.Client(channel)
      _ = try await client.echo()
      try await first.stop()
      #expect(await failure(client)?.code == .unavailable)
      let second = try EchoServer.start(on: "unix:" + path)
      _ = try await client.echo(options: .init(deadline: .after(.seconds(10)), waitsForReady: true))
      await channel.close()
      try await second.stop()
    }
  }

  @Test("A call that waits for a connection gets one, or ends at its deadline or by cancellation")
  func waitForReady() async throws {
    try await onLoop { group in
      let port = try Self.closedPort(group)
      let channel = ClientChannel(to: .host("127.0.0.1", port: port), on: group, configuration: Self.quick())
      let client = EchoService.Client(channel)
      let late = await failure(client, .init(deadline: .after(.milliseconds(100)), waitsForReady: true))
      #expect(late?.code == .deadlineExceeded)
      let outcome = Mutex<StatusCode?>(nil)
      let task = EventLoop.current?.spawn {
        do throws(RPCError) { _ = try await client.echo(options: .init(waitsForReady: true)) } catch {
          outcome.withLock { $0 = error.code }
        }
      }
      task?.cancel()
      await task?.value
      #expect(outcome.withLock { $0 } == .cancelled)
      await channel.close()
      #expect(await failure(client)?.code == .unavailable)
    }
  }

  @Test("A channel that is dropped without being closed leaves neither a socket nor a timer behind")
  func dropped() async throws {
    try await onLoop { group in
      let port = try Self.closedPort(group)
      var configuration = Self.quick()
      configuration.backoff.initial = .milliseconds(50)
      var refused: ClientChannel? = ClientChannel(to: .host("127.0.0.1", port: port), on: group, configuration: configuration)
      if let channel = refused { #expect(await failure(EchoService.Client(channel))?.code == .unavailable) }
      refused = nil
      // Past the moment at which the dropped channel would have tried again.
      try await EventLoop.current?.sleep(for: .milliseconds(150))

      let server = try EchoServer.start()
      var channel: ClientChannel? = try server.channel(on: group)
      if let channel { _ = try await EchoService.Client(channel).echo() }
      #expect(server.connections.value == 1)
      channel = nil
      try await server.connections.wait { $0 == 0 }
      try await server.stop()
    }
  }

  @Test("Waits between attempts grow to the maximum and stray by the jitter, no further")
  func backoff() {
    let backoff = ConnectionBackoff()
    for failures in 1...40 {
      var nominal = 1.0
      for _ in 1..<failures { nominal = min(nominal * 1.6, 120) }
      for _ in 0..<50 {
        let seconds = backoff.delay(after: failures) / .seconds(1)
        #expect(seconds >= nominal * 0.8 - 1e-6 && seconds <= nominal * 1.2 + 1e-6)
      }
    }
  }

  @Test("A certificate of an authority that is not trusted is UNAVAILABLE, and says why")
  func untrusted() async throws {
    try await EchoServer.run(tls: true) { server, group in
      let context = try TLSContext(.client(trustRoots: .certificates(.bytes(TestAuthority().certificate))))
      let channel = ClientChannel(
        to: .host("127.0.0.1", port: server.port), on: group, configuration: ClientChannelConfiguration(tls: context))
      let error = await failure(EchoService.Client(channel))
      #expect(error?.code == .unavailable)
      #expect(error?.message.contains("certificate") == true)
      await channel.close()
    }
  }

  @Test("A response over the limit is RESOURCE_EXHAUSTED, at the limit it is taken")
  func tooLarge() async throws {
    var configuration = ClientChannelConfiguration()
    configuration.maximumResponseBytes = 10_000
    try await EchoServer.call(client: configuration) { client, _ in
      // A bytes field of 10,000 - 3 bytes: tag and two bytes of length.
      _ = try await client.echo(.init(body: .init([UInt8](repeating: 1, count: 9_997))))
      let error = await #expect(throws: RPCError.self) {
        _ = try await client.echo(.init(body: .init([UInt8](repeating: 1, count: 9_998))))
      }
      #expect(error?.code == .resourceExhausted)
      var options = CallOptions()
      options.maximumResponseBytes = 10_001
      _ = try await client.echo(.init(body: .init([UInt8](repeating: 1, count: 9_998))), options: options)
    }
  }
}
