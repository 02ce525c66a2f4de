import EventLoop
import Glibc
import RPC
import RPCClient
import TestAPI
import TestSupport
import Testing

@Suite("Round robin")
struct RoundRobinTests {
  private func channel(_ fleet: Fleet, _ addresses: [SocketAddress], _ witness: Witness? = nil) -> ClientChannel {
    ClientChannel(
      to: .addresses(addresses, authority: "echo.test"), on: fleet.clients, configuration: .quick(witness, .roundRobin))
  }

  @Test("Calls go to all addresses in turn, over one connection each, although one is listed twice")
  func turns() async throws {
    try await Fleet.run(3) { fleet in
      let witness = Witness()
      let channel = channel(fleet, fleet.addresses + fleet.addresses, witness)
      let client = EchoService.Client(channel)
      _ = try await client.echo()
      try await witness.open.reaches(3)
      let before = fleet.calls
      for _ in 0..<30 { _ = try await client.echo() }
      #expect(zip(fleet.calls, before).map { $0 - $1 } == [10, 10, 10])
      #expect(fleet.members.map(\.server.connections.value) == [1, 1, 1])
      await channel.close()
    }
  }

  @Test("A service config can ask for it")
  func configured() async throws {
    try await Fleet.run(2) { fleet in
      let witness = Witness()
      var configuration = ClientChannelConfiguration.quick(witness)
      configuration.serviceConfig = try ServiceConfig(json: #"{"loadBalancingConfig":[{"round_robin":{}}]}"#)
      let channel = ClientChannel(
        to: .addresses(fleet.addresses, authority: "echo.test"), on: fleet.clients, configuration: configuration)
      _ = try await EchoService.Client(channel).echo()
      try await witness.open.reaches(2)
      await channel.close()
    }
  }

  @Test("An address that fails is left out, and no call sees it")
  func oneFails() async throws {
    try await Fleet.run(2) { fleet in
      let witness = Witness()
      let channel = channel(fleet, [try fleet.closedAddress()] + fleet.addresses, witness)
      let client = EchoService.Client(channel)
      for _ in 0..<20 { #expect(await failure(client) == nil) }
      #expect(witness.states.last == .ready && !witness.states.contains(.failing))
      #expect(fleet.calls.reduce(0, +) == 20)
      await channel.close()
    }
  }

  @Test("When a server leaves, its share goes to the others")
  func leaves() async throws {
    try await Fleet.run(2) { fleet in
      let witness = Witness()
      let channel = channel(fleet, fleet.addresses, witness)
      let client = EchoService.Client(channel)
      _ = try await client.echo()
      try await witness.open.reaches(2)
      try await fleet.members[0].stop()
      try await witness.open.wait { $0 == 1 }
      let before = fleet.calls
      for _ in 0..<10 { #expect(await failure(client) == nil) }
      #expect(zip(fleet.calls, before).map { $0 - $1 } == [0, 10])
      await channel.close()
    }
  }

  @Test("Calls fail only while all addresses do; whoever waits is served by the first that comes back")
  func allFail() async throws {
    try await Fleet.run(0) { fleet in
      let witness = Witness()
      let paths = (0..<2).map { _ in "/tmp/parley-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock" }
      let channel = channel(fleet, paths.map { SocketAddress(.unix(path: $0)) }, witness)
      let client = EchoService.Client(channel)
      #expect(await failure(client)?.code == .unavailable)
      #expect(witness.states.contains(.failing) && witness.errors.last?.code == .unavailable)
      let server = try EchoServer.start(on: "unix:" + paths[1])
      #expect(await failure(client, .init(deadline: .after(.seconds(20)), waitsForReady: true)) == nil)
      for _ in 0..<5 { #expect(await failure(client) == nil) }
      await channel.close()
      try await server.stop()
    }
  }

  @Test("Each loop has its own connections")
  func loops() async throws {
    try await Fleet.run(2, loops: 2) { fleet in
      let witness = Witness()
      let channel = channel(fleet, fleet.addresses, witness)
      let client = EchoService.Client(channel)
      _ = try await client.echo()
      try await fleet.clients.loops[1].visit { _ = try await client.echo() }
      try await witness.open.reaches(4)
      #expect(fleet.members.map(\.server.connections.value) == [2, 2])
      await channel.close()
    }
  }
}
