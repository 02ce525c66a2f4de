import EventLoop
import HTTP2
import RPC
import RPCClient
import TestAPI
import TestSupport
import Testing

/// gRFC A8 over a socket.
@Suite("Keepalive")
struct KeepaliveWireTests {
  private static let ping = HTTP2Frame.Kind.ping.rawValue

  /// PINGs often; a server that answers at all answers within the timeout, however slow the machine.
  private static func configuration(
    _ witness: Witness, withoutCalls: Bool = false, timeout: Duration = .seconds(20)
  ) -> ClientChannelConfiguration {
    var configuration = ClientChannelConfiguration.quick(witness)
    configuration.keepalive = ClientKeepalive(time: .milliseconds(20))
    configuration.keepalive.timeout = timeout
    configuration.keepalive.enforcedMinimum = .zero
    configuration.keepalive.permitsWithoutCalls = withoutCalls
    return configuration
  }

  @Test("A server that does not answer PINGs is given up, and the call is UNAVAILABLE")
  func silent() async throws {
    try await Fleet.run(0) { fleet in
      let witness = Witness()
      let server = try RawServer(on: fleet.clients) { peer in
        peer.isPolite = false
        peer.send(.settings([]))
        try await peer.closed()
      }
      let channel = ClientChannel(
        to: .addresses([server.address], authority: "echo.test"), on: fleet.clients,
        configuration: Self.configuration(witness, timeout: .milliseconds(40)))
      let error = await failure(EchoService.Client(channel))
      #expect(error?.code == .unavailable && error?.message.contains("keepalive timed out") == true)
      #expect(witness.lost.map(\.message) == ["keepalive timed out"])
      await channel.close()
      server.close()
    }
  }

  @Test("A server that answers keeps its connection and its call")
  func alive() async throws {
    try await Fleet.run(0) { fleet in
      let witness = Witness()
      let server = try RawServer(on: fleet.clients) { peer in
        peer.send(.settings([]))
        try await peer.wait("five PINGs") { peer.frames.count { $0.type == Self.ping && $0.flags == 0 } >= 5 }
        peer.send(
          .headers(1, HPACK.block([(":status", "200"), ("content-type", "application/grpc")])),
          .data(1, HTTP2Peer.message([])), .headers(1, HPACK.block([("grpc-status", "0")]), ends: true))
        try await peer.closed()
      }
      let channel = ClientChannel(
        to: .addresses([server.address], authority: "echo.test"), on: fleet.clients, configuration: Self.configuration(witness))
      #expect(await failure(EchoService.Client(channel), .timeout(.seconds(20))) == nil)
      #expect(witness.opened.value == 1 && witness.lost.isEmpty)
      await channel.close()
      server.close()
    }
  }

  @Test("Without calls there are no PINGs unless they are permitted", arguments: [false, true])
  func withoutCalls(_ isPermitted: Bool) async throws {
    try await Fleet.run(0) { fleet in
      let witness = Witness()
      let pings = Tally("PINGs")
      let server = try RawServer(on: fleet.clients) { peer in
        peer.send(.settings([]))
        try await peer.wait("the request") { peer.streams[1]?.isEnded == true }
        peer.send(
          .headers(1, HPACK.block([(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "5")]), ends: true))
        let before = peer.frames.count { $0.type == Self.ping && $0.flags == 0 }
        if isPermitted {
          try await peer.wait("a PING") { peer.frames.count { $0.type == Self.ping && $0.flags == 0 } > before + 1 }
        } else {
          // Many times the keepalive time.
          try await peer.loop.sleep(for: .milliseconds(200))  // between two looks
        }
        pings.add(peer.frames.count { $0.type == Self.ping && $0.flags == 0 } - before)
        pings.add(1_000)
        try await peer.closed()
      }
      let channel = ClientChannel(
        to: .addresses([server.address], authority: "echo.test"), on: fleet.clients,
        configuration: Self.configuration(witness, withoutCalls: isPermitted))
      #expect(await failure(EchoService.Client(channel), .timeout(.seconds(20)))?.code == .notFound)
      try await pings.reaches(1_000)
      #expect(isPermitted ? pings.value > 1_001 : pings.value <= 1_001)
      await channel.close()
      server.close()
    }
  }

  @Test("A server that complains of too many PINGs is asked half as often from then on")
  func tooMany() async throws {
    try await Fleet.run(0) { fleet in
      let witness = Witness()
      let server = try RawServer(on: fleet.clients) { peer in
        peer.send(.settings([]))
        try await peer.wait("a PING") { peer.frames.contains { $0.type == Self.ping && $0.flags == 0 } }
        let debug = witness.slowed.isEmpty ? "too_many_pings" : "something else"
        peer.send(HTTP2Frame(.goaway, HTTP2Frame.number(1) + HTTP2Frame.number(11) + Array(debug.utf8)))
        try await peer.wait("the request") { peer.streams[1]?.isEnded == true }
        peer.send(
          .headers(1, HPACK.block([(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "5")]), ends: true))
        try await peer.closed()
      }
      let channel = ClientChannel(
        to: .addresses([server.address], authority: "echo.test"), on: fleet.clients, configuration: Self.configuration(witness))
      let client = EchoService.Client(channel)
      #expect(await failure(client, .timeout(.seconds(20)))?.code == .notFound)
      #expect(witness.slowed == [.milliseconds(40)])
      #expect(await failure(client, .timeout(.seconds(20)))?.code == .notFound)
      #expect(witness.slowed == [.milliseconds(40)])
      await channel.close()
      server.close()
    }
  }
}
