import EventLoop
import HTTP2
import RPCServer
import TestSupport
import Testing

/// DATA that carries nothing.
@Suite("Hostile: DATA")
struct DataTests {
  /// A streaming call that takes whatever comes.
  private static let call = HTTP2Frame.headers(1, HTTP2Peer.grpcHeaders("Sum")).bytes
  private static let padded: UInt8 = 8

  @Test("Hostile 12: empty DATA without end ends the connection")
  func empty() async throws {
    try await Siege.run { siege in await siege.attack(.same(.data(1, []), opening: Self.call), "too_many_empty_data_frames") }
  }

  @Test("Hostile 12: DATA of nothing but padding without end ends the connection", arguments: [0, 255])
  func padding(_ count: Int) async throws {
    try await Siege.run { siege in
      let frame = HTTP2Frame(.data, flags: Self.padded, stream: 1, [UInt8(count)] + [UInt8](repeating: 0, count: count))
      await siege.attack(.same(frame, opening: Self.call), "too_many_empty_data_frames")
    }
  }

  @Test("Hostile 12: DATA of single bytes without end ends the connection, padded or not", arguments: [false, true])
  func tiny(_ isPadded: Bool) async throws {
    try await Siege.run { siege in
      let frame =
        isPadded
        ? HTTP2Frame(.data, flags: Self.padded, stream: 1, [3, 0, 0, 0, 0]) : HTTP2Frame.data(1, [0])
      await siege.attack(.same(frame, opening: Self.call), "too_many_tiny_data_frames")
      // No more than the burst bought, 25 for each unit of it.
      let statistics = await siege.statistics()
      #expect(statistics.glitches <= (statistics.connectionsEndedForAbuse + 1) * 26_000 + 33 * 25 * 20)
    }
  }
}
