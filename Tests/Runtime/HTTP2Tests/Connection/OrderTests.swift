import EventLoop
import HTTP2
import RPCServer
import TestSupport
import Testing

/// Frames for streams that are not open: those that break a rule end the connection, those that are merely late do not.
@Suite("Order of frames")
struct OrderTests {
  /// How the frames reach the server: a rule must not depend on what one read happens to hold.
  enum Delivery: CaseIterable, Sendable { case together, apart, byteByByte, straddling }

  private static let get = HTTP2Peer.httpHeaders("GET", "/")
  private static func get(_ stream: UInt32) -> HTTP2Frame { .headers(stream, get, ends: true) }
  /// Headers that nghttp2 refuses with RST_STREAM, of a request that has not ended.
  private static func malformed(_ stream: UInt32) -> HTTP2Frame { .headers(stream, get + HPACK.literal("X-UPPER", "case")) }
  private static let ping = HTTP2Frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8])
  private static let trailers = HPACK.literal("x-trailer", "1")

  /// The peer, and the loop that serves it.
  private func peer(_ body: @escaping @Sendable (HTTP2Peer, EventLoop) async throws -> Void) async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      defer { peer.close() }
      try await body(peer, server.group.loops[0])
    }
  }

  private func send(_ frames: [HTTP2Frame], _ delivery: Delivery, on peer: HTTP2Peer, to server: EventLoop) async throws {
    switch delivery {
    case .together: peer.send(frames.flatMap(\.bytes))
    case .apart:
      for (number, frame) in frames.enumerated() {
        peer.send(frame)
        // The answer to a PING proves that the frame was read, unless it ended the connection.
        if number < frames.count - 1 { try await answersPing(peer) }
      }
    case .byteByByte:
      // An acknowledgement would fall into the middle of a frame.
      peer.isPolite = false
      for byte in frames.flatMap(\.bytes) {
        peer.send([byte])
        await Task.yield()
      }
    case .straddling:
      // Each read ends within a payload: the next begins with the rest of it, and a whole header follows.
      peer.isPolite = false
      var chunk: [UInt8] = []
      for frame in frames {
        let bytes = frame.bytes
        chunk += bytes.dropLast(bytes.count > 9 ? 1 : 0)
        peer.send(chunk)
        // A turn of the server's loop, in which it reads what is there.
        for _ in 0..<2 { await server.visit {} }
        chunk = bytes.count > 9 ? [bytes[bytes.count - 1]] : []
      }
      peer.send(chunk)
    }
  }

  private func answersPing(_ peer: HTTP2Peer) async throws {
    let answers = peer.frames.count { $0.type == Self.ping.type && $0.flags == 1 }
    peer.send(Self.ping)
    try await peer.wait("an answer to PING") {
      peer.isClosed || peer.frames.count { $0.type == Self.ping.type && $0.flags == 1 } > answers
    }
  }

  private func lives(_ peer: HTTP2Peer) async throws {
    try await answersPing(peer)
    #expect(!peer.isClosed && peer.goawayCode == nil)
  }

  /// Frames of one connection, and the code that it ends with.
  struct Violation: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let code: UInt32
    let frames: [HTTP2Frame]
  }

  /// Headers in front of which five bytes of priority stand.
  private static func prioritized(_ stream: UInt32) -> HTTP2Frame {
    HTTP2Frame(.headers, flags: 0x25, stream: stream, [0, 0, 0, 0, 15] + get)
  }

  private static let violations = [
    Violation(testDescription: "HEADERS with a skipped identifier", code: 1, frames: [get(5), get(3)]),
    Violation(testDescription: "HEADERS in the gap of a prioritized request", code: 1, frames: [prioritized(5), get(3)]),
    Violation(testDescription: "HEADERS in a gap further down", code: 1, frames: [get(1), get(9), get(11), get(21), get(7)]),
    Violation(testDescription: "DATA with a skipped identifier", code: 1, frames: [get(1), get(5), .data(3, [1])]),
    Violation(testDescription: "DATA after RST_STREAM", code: 5, frames: [.headers(1, get), .reset(1, 8), .data(1, [1])]),
    Violation(testDescription: "empty DATA after RST_STREAM", code: 5, frames: [.headers(1, get), .reset(1, 8), .data(1, [])]),
    Violation(testDescription: "HEADERS after RST_STREAM", code: 5, frames: [.headers(1, get), .reset(1, 8), get(1)]),
    Violation(
      testDescription: "DATA on one of many reset streams", code: 5,
      frames: (0..<20).map { .headers($0 * 2 + 1, get) } + (0..<20).map { .reset($0 * 2 + 1, 8) } + [.data(9, [1])]),
  ]

  @Test("A frame for a stream that its sender has ended or skipped ends the connection", arguments: violations, Delivery.allCases)
  func violation(_ violation: Violation, _ delivery: Delivery) async throws {
    try await peer { peer, server in
      try await send(violation.frames, delivery, on: peer, to: server)
      try await peer.closed()
      #expect(peer.goawayCode == violation.code)
    }
  }

  @Test("A frame for a stream whose request and response are complete is STREAM_CLOSED", arguments: [false, true])
  func ended(_ hasData: Bool) async throws {
    try await peer { peer, _ in
      peer.send(Self.get(1))
      _ = try await peer.response(1)
      peer.send(hasData ? .data(1, [1], ends: true) : Self.get(1))
      try await peer.closed()
      #expect(peer.goawayCode == 5)
    }
  }

  @Test("Identifiers may be skipped, and the other frames of an ended stream are no error")
  func allowed() async throws {
    try await peer { peer, _ in
      for stream: UInt32 in [5, 7, 101, 1_001, 0x7fff_ffff] {
        peer.send(Self.get(stream))
        _ = try await peer.response(stream)
      }
      peer.send(.windowUpdate(5, 1), .reset(7, 8), HTTP2Frame(.priority, stream: 101, [0, 0, 0, 0, 1]))
      try await lives(peer)
    }
  }

  @Test("What comes on streams that the server has reset is late, however many they are", arguments: Delivery.allCases)
  func late(_ delivery: Delivery) async throws {
    try await peer { peer, server in
      // More than a history holds, and fewer than the connection may reset at once.
      let streams = (0..<(delivery == .together ? 300 : 3)).map { UInt32($0 * 2 + 1) }
      try await send(streams.map(Self.malformed), delivery, on: peer, to: server)
      for stream in streams {
        let response = try await peer.response(stream)
        #expect(response.resetCode == 1)
      }
      for stream in streams {
        try await send([.data(stream, [1, 2, 3]), .headers(stream, Self.trailers, ends: true)], delivery, on: peer, to: server)
      }
      try await lives(peer)
    }
  }

  @Test("What comes on a stream that was refused is late")
  func refused() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.concurrentStreams = 2
    try await EchoServer.run(configuration: configuration) { server, clients in
      let peer = try HTTP2Peer.connect(to: server.address, on: clients.loops[0])
      // Its limit is not acknowledged, so that a stream too many is refused alone.
      peer.isPolite = false
      peer.send(HTTP2Frame.preface)
      peer.send(.settings([]))
      for stream: UInt32 in [1, 3, 5] { peer.send(.headers(stream, Self.get)) }
      let refused = try await peer.response(5)
      #expect(refused.resetCode == 7)
      peer.send(.data(5, [1]), .headers(5, Self.trailers, ends: true), .reset(3, 8), Self.get(9))
      _ = try await peer.response(9)
      peer.send(.data(5, [1]))
      try await lives(peer)
      // The gap between the refused stream and the next is still known.
      peer.send(Self.get(7))
      try await peer.closed()
      #expect(peer.goawayCode == 1)
    }
  }

  @Test("Of more gaps than are remembered the oldest are let pass")
  func manyGaps() async throws {
    try await peer { peer, _ in
      let streams = (0..<300).map { UInt32($0 * 4 + 3) }
      for stream in streams { peer.send(Self.get(stream)) }
      for stream in streams { _ = try await peer.response(stream) }
      peer.send(.data(5, [1]))
      try await lives(peer)
      peer.send(.data(streams[299] - 2, [1]))
      try await peer.closed()
      #expect(peer.goawayCode == 1)
    }
  }

  @Test(
    "HEADERS with an even identifier, first or later, end the connection", arguments: [[2], [1, 6], [1, 6, 9], [0x7fff_fffe]])
  func even(_ streams: [UInt32]) async throws {
    try await peer { peer, _ in
      peer.send(streams.flatMap { Self.get($0).bytes })
      try await peer.closed()
      #expect(peer.goawayCode == 1)
    }
  }
}
