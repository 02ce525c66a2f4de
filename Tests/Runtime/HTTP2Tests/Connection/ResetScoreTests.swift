import EventLoop
import HTTP2
import TestSupport
import Testing

/// What a reset costs depends on what the peer got, and on the time that was left.
@Suite("Resets and time")
struct ResetScoreTests {
  private static let block = HTTP2Peer.httpHeaders("GET", "/")

  private static var limits: HTTP2Limits {
    var limits = HTTP2Limits()
    // SETTINGS count as twelve.
    limits.glitchBurst = 12 + 10
    limits.glitchesPerSecond = 0
    return limits
  }

  /// Opens streams, has `prepare` see each, resets all of them, and says whether the connection is over.
  private func isEnded(_ count: Int, _ prepare: @escaping @Sendable (HTTP2Stream) -> Void) async throws -> Bool {
    let ended = Tally("connections that ended")
    try await ServedPair.run(limits: Self.limits) { pair in
      for number in 0..<count { pair.peer.send(.headers(UInt32(number * 2 + 1), Self.block)) }
      try await pair.peer.wait("the streams") { pair.opened.count == count }
      for stream in pair.opened { prepare(stream) }
      for number in 0..<count { pair.peer.send(.reset(UInt32(number * 2 + 1), 8)) }
      pair.peer.send(HTTP2Frame(.ping, [UInt8](repeating: 1, count: 8)))
      try await pair.peer.wait("an answer") {
        pair.peer.isClosed || pair.peer.frames.contains { $0.type == HTTP2Frame.Kind.ping.rawValue }
      }
      if pair.peer.goawayCode == 11 { ended.add() }
    }
    return ended.value > 0
  }

  @Test("Ten resets pass where ten may, the eleventh ends the connection", arguments: [10, 11])
  func counted(_ count: Int) async throws { #expect(try await isEnded(count) { _ in } == (count > 10)) }

  @Test("Resets in the last eighth of a call's time cost nothing: its caller's clock began before ours (RF-03)")
  func lastEighth() async throws {
    let now = MonotonicInstant.now().nanoseconds
    let second: UInt64 = 1_000_000_000
    #expect(try await !isEnded(50) { $0.expires(at: now + second / 2, after: 8 * second) })
    #expect(try await isEnded(50) { $0.expires(at: now + 600 * second, after: 1_200 * second) })
  }
}
