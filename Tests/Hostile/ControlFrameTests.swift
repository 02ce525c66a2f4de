import EventLoop
import HTTP2
import RPCServer
import TestSupport
import Testing

/// Frames that move nothing.
@Suite("Hostile: control frames")
struct ControlFrameTests {
  private static let ping = HTTP2Frame(.ping, [UInt8](repeating: 7, count: 8))

  /// A hundred calls that stay open.
  private static let hundredCalls = (0..<100).flatMap { number in
    HTTP2Frame.headers(UInt32(number * 2 + 1), HTTP2Peer.grpcHeaders("Sum")).bytes
  }

  @Test("Hostile 7, 9: a peer that reads no answers to its PINGs or SETTINGS is cut off", arguments: [false, true])
  func deafPeer(_ sendsSettings: Bool) async throws {
    try await Siege.run { siege in
      let frame = sendsSettings ? HTTP2Frame.settings([]) : Self.ping
      let endings = await Attacker.run(.same(frame, reads: false), against: siege.server.address)
      for ending in endings { #expect(ending.isClosed) }
      // Only the probe's is left.
      try await siege.server.connections.wait { $0 == 1 }
      #expect(siege.server.failures.count == endings.count)
    }
  }

  @Test("Hostile 8: PINGs while nothing happens end the connection with too_many_pings, acknowledgements of none too")
  func pings() async throws {
    try await Siege.run { siege in
      await siege.attack(.same(Self.ping), "too_many_pings", for: .milliseconds(500))
      let answer = HTTP2Frame(.ping, flags: HTTP2Frame.acknowledgement, [UInt8](repeating: 7, count: 8))
      await siege.attack(.same(answer), "too_many_pings", for: .milliseconds(500))
    }
  }

  @Test("Hostile 9: a flood of SETTINGS ends the connection")
  func settings() async throws {
    try await Siege.run { siege in await siege.attack(.same(.settings([])), "too_many_settings") }
  }

  @Test("Hostile 10: SETTINGS of 32 entries are taken, of 33 not")
  func settingsEntries() async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.send(.settings(Array(repeating: (UInt16(4), UInt32(100_000)), count: 32)))
      try await peer.probe(1)
      peer.send(.settings(Array(repeating: (UInt16(4), UInt32(100_000)), count: 33)))
      try await peer.closed()
      #expect(peer.goawayCode == 11)
    }
  }

  @Test("Hostile 11: windows of a hundred streams that are toggled without end end the connection")
  func togglingSettings() async throws {
    try await Siege.run { siege in
      await siege.attack(.same(.settings([(4, 0)]), .settings([(4, 65_535)]), opening: Self.hundredCalls), "too_many_settings")
    }
  }

  @Test("Hostile 13: PRIORITY, WINDOW_UPDATE or unknown frames without end end the connection, and so does a mixture")
  func useless() async throws {
    try await Siege.run { siege in
      let short = Duration.milliseconds(300)
      let priority = HTTP2Frame(.priority, stream: 3, [0, 0, 0, 1, 9])
      let unknown = HTTP2Frame(type: 0x42, flags: 0, stream: 0, [1, 2, 3])
      let call = HTTP2Frame.headers(1, HTTP2Peer.grpcHeaders("Sum")).bytes
      await siege.attack(.same(priority), "too_many_priorities", for: short)
      await siege.attack(.same(unknown), "too_many_unknown_frames", for: short)
      await siege.attack(.same(.windowUpdate(0, 1)), "too_many_window_updates", for: short)
      await siege.attack(.same(.windowUpdate(1, 1), opening: call), "too_many_window_updates", for: short)
      await siege.attack(.same(priority, unknown, .windowUpdate(0, 1), Self.ping, .settings([])), for: short)
    }
  }

  @Test("Hostile 13: a window that is opened byte by byte gets its bytes, and no credit for them")
  func dribble() async throws {
    try await Siege.run { siege in
      // Megabytes wait for a window of nothing.
      let call =
        HTTP2Frame.headers(1, HTTP2Peer.grpcHeaders("Count")).bytes
        + HTTP2Frame.data(1, HTTP2Peer.message([0x08, 100, 0x10, 0xe0, 0xd4, 0x03]), ends: true).bytes
      var flood = Flood.same(.windowUpdate(1, 1), opening: call)
      flood.settings = [(4, 0)]
      await siege.attack(flood, "too_many_window_updates")
    }
  }
}
