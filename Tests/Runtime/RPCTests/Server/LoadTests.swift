import EventLoop
import RPC
import RPCClient
import RPCServer
import Synchronization
import TestAPI
import TestSupport
import Testing

@Suite("Under load")
struct LoadTests {
  @Test("Connections spread over two loops, and each call is served on its connection's loop")
  func spread() async throws {
    let seen = Mutex<Set<String>>([])
    let handlers = EchoHandlers { _, _ in
      let before = EventLoop.current?.name ?? "none"
      await Task.yield()
      #expect(EventLoop.current?.name == before)
      seen.withLock { _ = $0.insert(before) }
    }
    try await EchoServer.run(loops: 2, handlers: handlers) { server, clients in
      let peers = [0, 1, 2, 3].map { _ in try? HTTP2Peer.connect(to: server.address, on: clients.loops[0]) }.compactMap { $0 }
      try await server.connections.reaches(4)
      #expect(server.group.loops.map(\.load) == [2, 2])
      for peer in peers {
        peer.send(HTTP2Frame.preface)
        peer.send(.settings([]))
        try await peer.probe(1)
      }
      #expect(seen.withLock { $0 } == ["echo-0", "echo-1"])
      for peer in peers { peer.close() }
    }
  }
}
