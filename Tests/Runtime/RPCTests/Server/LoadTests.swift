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
  private final class Codes: Sendable { let set = Mutex<Set<StatusCode>>([]) }

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
      var peers: [HTTP2Peer] = []
      for _ in 0..<4 {
        let peer = try HTTP2Peer.connect(to: server.address, on: clients.loops[0])
        peer.send(HTTP2Frame.preface + HTTP2Frame.settings([]).bytes)
        peers.append(peer)
      }
      try await server.connections.reaches(4)
      #expect(server.group.loops.map(\.load) == [2, 2])
      for peer in peers { try await peer.probe(1) }
      #expect(seen.withLock { $0 } == ["echo-0", "echo-1"])
      for peer in peers { peer.close() }
    }
  }

  @Test("A drain under load answers every call that a handler saw, and the others learn that none did", arguments: [false, true])
  func drain(_ tls: Bool) async throws {
    let served = Tally("calls served")
    let handlers = EchoHandlers { _, _ in
      served.add()
      try await EventLoop.current?.sleep(for: .milliseconds(1))
    }
    try await EchoServer.call(tls: tls, handlers: handlers) { client, server in
      let answered = Tally("calls answered")
      let codes = Codes()
      let callers = (0..<50).map { _ in
        EventLoop.current?.spawn {
          while true {
            do throws(RPCError) {
              _ = try await client.echo()
              answered.add()
            } catch {
              codes.set.withLock { _ = $0.insert(error.code) }
              return
            }
          }
        }
      }
      try await answered.reaches(500)
      await server.server.drain(within: .seconds(10))
      for caller in callers { await caller?.value }
      #expect(answered.value == served.value)
      #expect(codes.set.withLock { $0 } == [.unavailable])
      #expect(server.connections.value == 0)
    }
  }
}
