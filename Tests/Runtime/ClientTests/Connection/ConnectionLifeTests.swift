import EventLoop
import HTTP2
import RPC
import RPCClient
import TestAPI
import TestSupport
import Testing

@Suite("Connections of a channel")
struct ConnectionLifeTests {
  @Test("A channel tells its states: connecting, ready, idle after its server's goodbye, closed")
  func states() async throws {
    try await Fleet.run(1) { fleet in
      let witness = Witness()
      let channel = ClientChannel(
        to: .addresses(fleet.addresses, authority: "echo.test"), on: fleet.clients, configuration: .quick(witness))
      _ = try await EchoService.Client(channel).echo()
      #expect(witness.states == [.connecting, .ready] && channel.state == .ready)
      try await fleet.members[0].stop()
      try await witness.reaches(.idle)
      #expect(witness.lost.isEmpty)
      await channel.close()
      #expect(witness.states.last == .closed)
    }
  }

  @Test("Without a call for the idle timeout connections end; a call keeps its own, and the next one connects again")
  func idle() async throws {
    try await Fleet.run(1) { fleet in
      let witness = Witness()
      var configuration = ClientChannelConfiguration.quick(witness)
      configuration.idleTimeout = .milliseconds(30)
      let channel = ClientChannel(
        to: .addresses(fleet.addresses, authority: "echo.test"), on: fleet.clients, configuration: configuration)
      let client = EchoService.Client(channel)
      // Far longer than the timeout, and still alive.
      let slow = await failure(client, .init(deadline: .after(.milliseconds(200))), method: .sleep)
      #expect(slow?.code == .deadlineExceeded)
      #expect(witness.opened.value == 1)
      try await witness.reaches(.idle)
      try await witness.open.wait { $0 == 0 }
      _ = try await client.echo()
      #expect(witness.opened.value == 2)
      await channel.close()
    }
  }

  private enum Method { case sleep }
  private func failure(_ client: EchoService.Client, _ options: CallOptions, method: Method) async -> RPCError? {
    do throws(RPCError) {
      _ = try await client.sleep(options: options)
      return nil
    } catch { return error }
  }

  @Test("A server that accepts and hangs up is not met with connections without pause")
  func hangsUp() async throws {
    try await Fleet.run(0) { fleet in
      let server = try RawServer(on: fleet.clients) { peer in
        peer.send(.settings([]))
        // Its acknowledgement proves that the client has become ready.
        try await peer.wait("SETTINGS") { peer.isClosed || peer.frames.contains { $0.type == 4 && $0.flags == 1 } }
      }
      let witness = Witness()
      var configuration = ClientChannelConfiguration.quick(witness, .roundRobin)
      configuration.backoff.initial = .milliseconds(60)
      let channel = ClientChannel(
        to: .addresses([server.address], authority: "echo.test"), on: fleet.clients, configuration: configuration)
      let begin = MonotonicInstant.now()
      _ = await ClientTests.failure(EchoService.Client(channel), .timeout(.milliseconds(1)))
      try await server.accepted.reaches(4)
      #expect(MonotonicInstant.now().duration(since: begin) >= .milliseconds(3 * 60))
      await channel.close()
      server.close()
    }
  }
}
