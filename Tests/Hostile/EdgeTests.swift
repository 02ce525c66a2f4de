import EventLoop
import HTTP2
import RPCServer
import TestSupport
import Testing

/// The attacks of one client through the real edge proxy, which puts everybody on one connection for each copy of the service, beside
/// long calls and streams of others.
@Suite("Hostile: through the edge")
struct EdgeTests {
  private static let attacker = SocketAddress(.ipv4([127, 0, 0, 2], port: 0))
  private static let others = SocketAddress(.ipv4([127, 0, 0, 3], port: 0))

  private static var configuration: RPCServerConfiguration {
    var configuration = RPCServerConfiguration()
    configuration.proxies = ForwardedClients(
      isProxy: { $0.host == "127.0.0.1" }, key: { $1.last?.split(separator: ",").last.map { String($0) } ?? $0.host })
    return configuration
  }

  /// Long calls and streams of others through the edge, on connections and a loop of their own.
  // SAFETY: used on its loop only.
  private final class Others: @unchecked Sendable {
    static let calls: [UInt32] = (0..<100).map { $0 * 2 + 1 }
    static let streams: [UInt32] = (100..<150).map { $0 * 2 + 1 }
    /// "hi" as a message of `Chat`.
    private static let hi = HTTP2Peer.message([0x0a, 0x02, 0x68, 0x69])

    let peer: HTTP2Peer
    let loop: EventLoop
    let rounds = Tally("rounds of all streams")
    private var isStopped = false
    private(set) var worst = Duration.zero
    private(set) var worstLateness = Duration.zero
    private var task: Task<Void, any Error>?

    init(to address: SocketAddress, on loop: EventLoop) async throws {
      self.loop = loop
      peer = try await HTTP2Peer.open(to: address, from: EdgeTests.others, on: loop)
      for stream in Self.calls { peer.call(stream, "Sleep") }
      for stream in Self.streams { peer.send(.headers(stream, HTTP2Peer.grpcHeaders("Chat"))) }
    }

    /// Says something on each stream, waits for all the answers, and begins again.
    func begin() {
      task = Task(executorPreference: loop) { [self] in
        var round = 0
        while !isStopped {
          round += 1
          let expected = round * Self.hi.count
          let sent = MonotonicInstant.now()
          for stream in Self.streams { peer.send(.data(stream, Self.hi)) }
          try await peer.wait("the answers of round \(round)") { [self] in
            peer.isClosed || Self.streams.allSatisfy { peer.streams[$0]?.body.count ?? 0 >= expected || isOver($0) }
          }
          worst = max(worst, MonotonicInstant.now().duration(since: sent))
          rounds.add()
          guard !peer.isClosed else { return }
          let next = MonotonicInstant.now().advanced(by: .milliseconds(20))
          try await loop.sleep(until: next)
          worstLateness = max(worstLateness, MonotonicInstant.now().duration(since: next))
        }
      }
    }

    func isOver(_ stream: UInt32) -> Bool { peer.streams[stream]?.isOver == true }

    func end() async throws {
      isStopped = true
      try await task?.value
    }
  }

  /// Attacks while others' calls go on, and checks that these noticed nothing.
  private func beside(_ attack: @escaping @Sendable (SocketAddress, EventLoop) async throws -> Void) async throws {
    let first = try EchoServer.start(configuration: Self.configuration)
    let second = try EchoServer.start(configuration: Self.configuration)
    let edge = try LocalEdge(before: [first.port, second.port])
    let group = try EventLoopGroup(count: 2, name: "through-the-edge")
    let result = await Result.of {
      let address = SocketAddress(.ipv4([127, 0, 0, 1], port: edge.port))
      let (loop, attackers) = (group.loops[0], group.loops[1])
      let others = try await loop.perform { try await Others(to: address, on: loop) }
      try await eventually("the long calls are under way") {
        first.handlers.sleeping.value + second.handlers.sleeping.value == Others.calls.count
      }
      #expect(first.handlers.sleeping.value > 0 && second.handlers.sleeping.value > 0)
      try await loop.perform { others.begin() }
      try await others.rounds.reaches(5)
      try await attackers.perform { try await attack(address, attackers) }
      let rounds = others.rounds.value
      try await others.rounds.reaches(rounds + 5)
      try await loop.perform {
        try await others.end()
        #expect(!others.peer.isClosed && others.peer.goawayCode == nil)
        let failed = (Others.calls + Others.streams).filter { others.isOver($0) }
        #expect(failed.isEmpty, "\(failed.count) of \(Others.calls.count + Others.streams.count) calls of others ended")
        #expect(others.worst <= .seconds(1) * Scale.time + others.worstLateness * 4, "a stream of others stood still")
        others.peer.close()
      }
      #expect(first.failures.isEmpty && second.failures.isEmpty, "\(first.failures + second.failures)")
    }
    group.shutDown()
    try edge.stop()
    try await first.stop()
    try await second.stop()
    try result.get()
  }

  @Test("One request with 90 headers of 700 bytes ends no call but its own (BB-01)", .timeLimit(.minutes(2)))
  func longHeaders() async throws {
    try await beside { address, loop in
      for number in 0..<4 {
        let peer = try await HTTP2Peer.open(to: address, from: Self.attacker, on: loop)
        let fields = (0..<90).flatMap { HPACK.literal("x-\($0)", [UInt8](repeating: 0x62, count: 700)) }
        let block = HTTP2Peer.httpHeaders("GET", "/attack-\(number)") + fields
        for start in stride(from: 0, to: block.count, by: 16_384) {
          let end = min(start + 16_384, block.count)
          peer.send(
            HTTP2Frame(
              start == 0 ? .headers : .continuation,
              flags: (end == block.count ? HTTP2Frame.endHeaders : 0) | (start == 0 ? HTTP2Frame.endStream : 0), stream: 1,
              Array(block[start..<end])))
        }
        let response = try await peer.response(1)
        #expect(response.value(":status") == "431")
        peer.close()
      }
    }
  }

  @Test("205 requests with a header of 20 KB, all at once, end no call but their own (BB-01)", .timeLimit(.minutes(2)))
  func manyLongHeaders() async throws {
    try await beside { address, loop in
      let peer = try await HTTP2Peer.open(to: address, from: Self.attacker, on: loop)
      let block = HTTP2Peer.httpHeaders("GET", "/") + HPACK.literal("x-long", [UInt8](repeating: 0x62, count: 20_000))
      for number in 0..<205 {
        let stream = UInt32(number * 2 + 1)
        peer.send(
          HTTP2Frame(.headers, flags: HTTP2Frame.endStream, stream: stream, Array(block[..<16_000])),
          HTTP2Frame(.continuation, flags: HTTP2Frame.endHeaders, stream: stream, Array(block[16_000...])))
      }
      try await peer.wait("the answers") { peer.isClosed || peer.streams.values.count { $0.isOver } == 205 }
      peer.close()
    }
  }

  @Test(
    "2,800 requests that are reset at once, over three connections, end no call but their own (BB-01)", .timeLimit(.minutes(2)))
  func rapidReset() async throws {
    try await beside { address, loop in
      let head = HTTP2Peer.grpcHeaders("Sleep")
      for _ in 0..<3 {
        // One connection after the other: the edge itself ends each at its thousandth reset or so.
        let peer = try await HTTP2Peer.open(to: address, from: Self.attacker, on: loop)
        for batch in 0..<24 where !peer.isClosed {
          let streams = (0..<39).map { UInt32((batch * 39 + $0) * 2 + 1) }
          for stream in streams { peer.send(.headers(stream, head), .data(stream, HTTP2Peer.message([]), ends: true)) }
          // The edge passes on what it has read before it reads the resets; what comes together it never passes on.
          peer.send(HTTP2Frame(.ping, [UInt8](repeating: 1, count: 8)))
          try await peer.wait("an answer") {
            peer.isClosed
              || peer.frames.count { $0.type == HTTP2Frame.Kind.ping.rawValue && $0.flags == 1 } > batch
          }
          for stream in streams { peer.send(.reset(stream, 8)) }
        }
        peer.close()
      }
    }
  }
}
