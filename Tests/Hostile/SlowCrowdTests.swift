import EventLoop
import Glibc
import HTTP2
import RPCServer
import TestSupport
import Testing

/// Two thousand slow peers at once.
@Suite("Hostile: a slow crowd")
struct SlowCrowdTests {
  private static let connections = 2_000
  /// What a connection may cost while it is slow, everything counted.
  private static let bytesEach = 32 << 10

  @Test("Hostile 19: 2,000 connections, byte by byte or silent, are all closed, cost little each, and others are served")
  func crowd() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.handshakeTimeout = .seconds(5)
    configuration.http2.headerTimeout = .seconds(5)
    configuration.http2.idleTimeout = .seconds(5)
    configuration.http2.drainNotice = .milliseconds(100)
    let server = try EchoServer.start(configuration: configuration)
    let probe = try await Probe(to: server.address)
    let (address, count) = (server.address, Self.connections)
    let crowd = try await onThread { try SlowCrowd(count, to: address) }
    let peak = Tally("open connections at once")
    peak.add(server.connections.value)
    let left = try await onThread { crowd.drip(for: .seconds(60)) }
    let report = try await probe.finish()
    #expect(left == 0, "connections that are still open")
    #expect(peak.value > count / 2)
    report.check()
    let growth = report.peakMemory - probe.memoryBefore
    #expect(growth <= count * Self.bytesEach * Scale.memory, "\(growth / count) bytes for each connection")
    try await server.stop()
  }

  /// Runs what blocks on a thread of its own.
  private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    let pool = BlockingPool(maximumThreads: 1)
    defer { pool.shutDown() }
    return try await pool.run(body)
  }
}

/// Connections that each send a byte now and then, in four ways: nothing at all, a preface, a header list, and nothing after the
/// handshake.
// SAFETY: used by one thread after the other.
private final class SlowCrowd: @unchecked Sendable {
  private struct Member {
    let descriptor: Int32
    let bytes: [UInt8]
    var sent = 0
    var isOpen = true
  }

  private var members: [Member] = []

  init(_ count: Int, to address: SocketAddress) throws {
    let opening = HTTP2Frame.preface + HTTP2Frame.settings([]).bytes
    let headers = HTTP2Frame.headers(1, HTTP2Peer.grpcHeaders("Echo") + [UInt8](repeating: 0, count: 9_000)).bytes
    for number in 0..<count {
      let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0, address.withSockaddr({ connect(descriptor, $0, $1) }) == 0 else {
        throw TimedOut("connection \(number): \(String(cString: strerror(errno)))")
      }
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
      let (first, rest): ([UInt8], [UInt8]) =
        switch number % 4 {
        case 0: ([], [])
        case 1: ([], HTTP2Frame.preface + [UInt8](repeating: 0, count: 1_000))
        case 2: (opening, headers)
        default: (opening, [])
        }
      if !first.isEmpty { _ = send(descriptor, first, first.count, Int32(MSG_NOSIGNAL)) }
      members.append(Member(descriptor: descriptor, bytes: rest))
    }
  }

  /// Sends a byte on each connection every 200 ms until all of them are closed.
  ///
  /// - Returns: How many are still open when time is over.
  func drip(for limit: Duration) -> Int {
    let end = MonotonicInstant.now().advanced(by: limit)
    var open = members.count
    while open > 0 && MonotonicInstant.now() < end {
      for index in members.indices where members[index].isOpen {
        if isOver(&members[index]) { open -= 1 }
      }
      poll(nil, 0, 200)
    }
    for member in members where member.isOpen { close(member.descriptor) }
    return open
  }

  private func isOver(_ member: inout Member) -> Bool {
    var buffer = (0, 0, 0, 0, 0, 0, 0, 0)
    var count: Int
    repeat { count = recv(member.descriptor, &buffer, 64, 0) } while count > 0
    if count < 0 && errno == EAGAIN {
      guard member.sent < member.bytes.count else { return false }
      var byte = member.bytes[member.sent]
      member.sent += 1
      _ = send(member.descriptor, &byte, 1, Int32(MSG_NOSIGNAL))
      return false
    }
    close(member.descriptor)
    member.isOpen = false
    return true
  }
}
