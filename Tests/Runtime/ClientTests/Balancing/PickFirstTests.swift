import EventLoop
import RPC
import RPCClient
import TestAPI
import TestSupport
import Testing

@Suite("Pick first")
struct PickFirstTests {
  @Test("All calls go to the first address that serves, over one connection")
  func first() async throws {
    try await Fleet.run(2) { fleet in
      let witness = Witness()
      let channel = ClientChannel(
        to: .addresses([try fleet.closedAddress()] + fleet.addresses, authority: "echo.test:50051"), on: fleet.clients,
        configuration: .quick(witness))
      let client = EchoService.Client(channel)
      for _ in 0..<5 { _ = try await client.echo() }
      #expect(fleet.calls == [5, 0])
      #expect(witness.opened.value == 1)
      #expect(fleet.members[0].server.connections.value == 1 && fleet.members[1].server.connections.value == 0)
      await channel.close()
    }
  }

  @Test("An address that does not answer is not waited for: the next one is tried beside it")
  func silent() async throws {
    try await Fleet.run(1) { fleet in
      let closed = Tally("silent connections closed")
      let silent = try RawServer(on: fleet.clients) { peer in
        try await peer.closed()
        closed.add()
      }
      let channel = ClientChannel(
        to: .addresses([silent.address] + fleet.addresses, authority: "echo.test"), on: fleet.clients, configuration: .quick())
      _ = try await EchoService.Client(channel).echo(options: .timeout(.seconds(10)))
      #expect(silent.accepted.value == 1)
      // The loser of the race is not kept.
      try await closed.reaches(1)
      await channel.close()
      silent.close()
    }
  }

  @Test("When no address serves, the call is told why the last one did not")
  func none() async throws {
    try await Fleet.run(0) { fleet in
      let witness = Witness()
      let channel = ClientChannel(
        to: .addresses([try fleet.closedAddress(), try fleet.closedAddress()], authority: "echo.test"), on: fleet.clients,
        configuration: .quick(witness))
      let error = await failure(EchoService.Client(channel))
      #expect(error?.code == .unavailable && error?.message.contains("refused") == true)
      #expect(witness.states.prefix(2) == [.connecting, .failing])
      let empty = ClientChannel(to: .addresses([], authority: "echo.test"), on: fleet.clients)
      #expect(await failure(EchoService.Client(empty))?.code == .unavailable)
      await channel.close()
      await empty.close()
      #expect(witness.states.last == .closed)
    }
  }

  @Test("When its server leaves, the next call goes to the next address")
  func failover() async throws {
    try await Fleet.run(2) { fleet in
      let channel = ClientChannel(
        to: .addresses(fleet.addresses, authority: "echo.test"), on: fleet.clients, configuration: .quick())
      let client = EchoService.Client(channel)
      _ = try await client.echo()
      try await fleet.members[0].stop()
      _ = try await client.echo(options: .init(deadline: .after(.seconds(10)), waitsForReady: true))
      #expect(fleet.calls == [1, 1])
      await channel.close()
    }
  }

  @Test("A shuffled list spreads channels over the addresses")
  func shuffled() async throws {
    try await Fleet.run(2) { fleet in
      for _ in 0..<24 {
        let channel = ClientChannel(
          to: .addresses(fleet.addresses, authority: "echo.test"), on: fleet.clients,
          configuration: .quick(nil, .pickFirst(shuffled: true)))
        _ = try await EchoService.Client(channel).echo()
        await channel.close()
      }
      // All on one side: once in eight million runs.
      #expect(fleet.calls.allSatisfy { $0 > 0 } && fleet.calls.reduce(0, +) == 24)
    }
  }
}
