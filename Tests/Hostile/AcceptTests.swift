import EventLoop
import Glibc
import HTTP2
import RPCServer
import TestSupport
import Testing

/// Peers that only connect.
@Suite("Hostile: floods of connections")
struct AcceptTests {
  @Test("Hostile 20: connections over the limit are closed at once and reported once a second; the others are served")
  func full() async throws {
    var configuration = RPCServerConfiguration()
    configuration.accept.connections = 20
    try await EchoServer.run(loops: 2, configuration: configuration) { server, clients in
      let loop = clients.loops[0]
      let first = try await HTTP2Peer.open(to: server.address, on: loop)
      var peers: [HTTP2Peer] = []
      for _ in 0..<19 { peers.append(try await HTTP2Peer.open(to: server.address, on: loop)) }
      for _ in 0..<200 {
        let refused = try HTTP2Peer.connect(to: server.address, on: loop)
        try await refused.closed(within: .seconds(30))
      }
      try await first.probe(1)
      for peer in peers { #expect(!peer.isClosed) }
      try await server.refused.wait(within: .seconds(30)) { $0 == 200 }
      #expect(server.refusals.map(\.full).reduce(0, +) == 200)
      #expect(server.refusals.count < 100)
      // One that leaves makes room for another.
      peers[0].close()
      try await server.connections.wait { $0 == 19 }
      let next = try await HTTP2Peer.open(to: server.address, on: loop)
      try await next.probe(1)
      next.close()
      for peer in peers { peer.close() }
      first.close()
    }
  }

  @Test("Hostile 20: one address cannot take all the connections")
  func perAddress() async throws {
    var configuration = RPCServerConfiguration()
    configuration.accept.connectionsPerAddress = 5
    try await EchoServer.run(configuration: configuration) { server, clients in
      let loop = clients.loops[0]
      var peers: [HTTP2Peer] = []
      for _ in 0..<5 { peers.append(try await HTTP2Peer.open(to: server.address, on: loop)) }
      let refused = try HTTP2Peer.connect(to: server.address, on: loop)
      try await refused.closed(within: .seconds(30))
      // All of 127/8 is this machine.
      let source = try SocketAddress("127.0.0.2:0")
      let other = try HTTP2Peer(try Self.connect(to: server.address, from: source), on: loop, isServer: false)
      other.send(HTTP2Frame.preface)
      other.send(.settings([]))
      try await other.probe(1)
      try await server.refused.wait(within: .seconds(30)) { $0 == 1 }
      #expect(server.refusals.map(\.fullForAddress) == [1])
      #expect(server.refusals.first?.lastPeer?.host == "127.0.0.1")
      for peer in peers { peer.close() }
      other.close()
    }
  }

  private static func connect(to address: SocketAddress, from source: SocketAddress) throws -> Int32 {
    let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard source.withSockaddr({ bind(descriptor, $0, $1) }) == 0, address.withSockaddr({ Glibc.connect(descriptor, $0, $1) }) == 0
    else { throw TimedOut("no connection from \(source): \(String(cString: strerror(errno)))") }
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    return descriptor
  }

  @Test(
    "Hostile 20: out of descriptors, the newest connections are closed, the others are served, and it goes on when there are some"
  )
  func outOfDescriptors() async {
    // A process of its own, whose limit can be lowered.
    _ = await #expect(processExitsWith: .success) {
      let server = try EchoServer.start()
      let clients = try EventLoopGroup(count: 1, name: "test")
      let loop = clients.loops[0]
      let status: Int32 = try await loop.perform {
        let probe = try await HTTP2Peer.open(to: server.address, on: loop)
        try await probe.probe(1)
        // Descriptors that are there before the limit falls stay usable.
        let flood = (0..<200).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0) }
        let lowest = dup(0)
        close(lowest)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let low = rlimit(rlim_cur: rlim_t(lowest) + 24, rlim_max: limit.rlim_max)
        withUnsafePointer(to: low) { _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), $0) }
        for descriptor in flood {
          _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
          _ = server.address.withSockaddr { Glibc.connect(descriptor, $0, $1) }
        }
        var stream: UInt32 = 3
        // Refused is who sees the end of its connection.
        var refused = 0
        let end = MonotonicInstant.now().advanced(by: .seconds(40))
        while refused < 176 && MonotonicInstant.now() < end {
          try await probe.probe(stream)
          stream += 2
          refused = flood.count { descriptor in
            var byte: UInt8 = 0
            return recv(descriptor, &byte, 1, Int32(MSG_PEEK)) == 0
          }
          try await loop.sleep(for: .milliseconds(50))
        }
        guard refused == 176, server.connections.value == 25 else { return 3 }
        try await server.refused.wait(within: .seconds(30)) { $0 == 176 }
        guard server.refusals.map(\.outOfDescriptors).reduce(0, +) == 176 else { return 4 }
        for descriptor in flood { close(descriptor) }
        try await server.connections.wait(within: .seconds(30)) { $0 == 1 }
        let next = try await HTTP2Peer.open(to: server.address, on: loop)
        try await next.probe(1)
        try await probe.probe(stream)
        next.close()
        probe.close()
        return 0
      }
      try await server.stop()
      clients.shutDown()
      exit(status)
    }
  }
}
