import Buffers
import EventLoop
import HTTP2
import TestSupport
import Testing

/// What becomes of a request whose response is complete before it is.
@Suite("Requests that are answered early")
struct UnreadRequestTests {
  /// Answers with a body as soon as the headers are there.
  private final class Refusal: HTTP2StreamHandler {
    func streamReceivedHeaders(_ stream: HTTP2Stream) {
      stream.respond(HeaderList([":status": "415"]), endsStream: false)
      stream.outbound.append(contentsOf: [1, 2, 3])
      stream.finish()
    }
    func streamReceivedData(_ stream: HTTP2Stream) { stream.consume(stream.inbound.count) }
    func streamReceivedEnd(_ stream: HTTP2Stream) {}
    func streamDrained(_ stream: HTTP2Stream) {}
    func streamClosed(_ stream: HTTP2Stream, _ error: HTTP2ErrorCode) {}
  }

  private static var limits: HTTP2Limits {
    var limits = HTTP2Limits()
    limits.unreadRequestTime = .milliseconds(100)
    return limits
  }

  @Test("One that goes on is reset with NO_ERROR, after the response and not before its time")
  func goesOn() async throws {
    try await ServedPair.run(limits: Self.limits, handler: { Refusal() }) { pair in
      let began = MonotonicInstant.now()
      pair.peer.send(.headers(1, HTTP2Peer.httpHeaders("POST", "/")))
      try await pair.peer.wait("the reset") { pair.peer.streams[1]?.resetCode != nil }
      let response = try #require(pair.peer.streams[1])
      #expect(response.resetCode == 0)
      #expect(response.value(":status") == "415" && response.body == [1, 2, 3])
      #expect(MonotonicInstant.now().duration(since: began) >= .milliseconds(100))
    }
  }

  @Test("One that ends in time is not reset")
  func ends() async throws {
    try await ServedPair.run(limits: Self.limits, handler: { Refusal() }) { pair in
      pair.peer.send(.headers(1, HTTP2Peer.httpHeaders("POST", "/")))
      try await pair.peer.wait("the response") { pair.peer.streams[1]?.body == [1, 2, 3] }
      pair.peer.send(.data(1, [UInt8](repeating: 7, count: 1_000), ends: true))
      // The reset of a later request would follow that of the first.
      pair.peer.send(.headers(3, HTTP2Peer.httpHeaders("POST", "/")))
      try await pair.peer.wait("the reset of the second") { pair.peer.streams[3]?.resetCode != nil }
      #expect(pair.peer.streams[1]?.resetCode == nil)
    }
  }
}
