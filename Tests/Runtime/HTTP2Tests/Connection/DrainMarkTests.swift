import Buffers
import EventLoop
import HTTP2
import TestSupport
import Testing

/// When a stream's writer learns that it may go on.
@Suite("Writers of a stream")
struct DrainMarkTests {
  /// Answers with a body that it is told to write, and counts the calls that it may go on.
  private final class Writer: HTTP2StreamHandler {
    var drained: [Int] = []
    func streamReceivedHeaders(_ stream: HTTP2Stream) {
      stream.respond(HeaderList([":status": "200"]), endsStream: false)
    }
    func streamReceivedData(_ stream: HTTP2Stream) {}
    func streamReceivedEnd(_ stream: HTTP2Stream) {}
    func streamDrained(_ stream: HTTP2Stream) { drained.append(stream.outbound.count) }
    func streamClosed(_ stream: HTTP2Stream, _ error: HTTP2ErrorCode) {}
  }

  @Test("A writer is told once, when no more waits than it asked for", arguments: [0, 1, 40, 99])
  func mark(_ lowWater: Int) async throws {
    // A window of nothing: each byte leaves when the peer asks for it.
    try await ServedPair.run(settings: [(4, 0)], handler: { Writer() }) { pair in
      pair.peer.send(.headers(1, HTTP2Peer.httpHeaders("GET", "/"), ends: true))
      try await pair.peer.wait("the response") { pair.peer.streams[1]?.headers.isEmpty == false }
      let stream = try #require(pair.opened.first)
      let writer = try #require(stream.handler as? Writer)
      stream.outbound.append(contentsOf: [UInt8](repeating: 7, count: 100))
      stream.notifyWhenDrained(to: lowWater)
      stream.outboundGrew()
      func take(_ count: Int) async throws {
        let before = pair.peer.streams[1]?.body.count ?? 0
        pair.peer.send(.windowUpdate(1, UInt32(count)))
        try await pair.peer.wait("\(count) bytes") { pair.peer.streams[1]?.body.count == before + count }
      }
      if lowWater < 99 {
        try await take(99 - lowWater)
        #expect(writer.drained.isEmpty)
      }
      try await take(1)
      #expect(writer.drained == [lowWater])
      if lowWater > 0 { try await take(lowWater) }
      #expect(writer.drained == [lowWater])
    }
  }
}
