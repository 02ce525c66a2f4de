import EventLoop
import Glibc
import RPC
import RPCClient
import RPCServer
import Synchronization
import TestAPI
import TestSupport
import Testing

@Suite("Servers on Unix sockets")
struct UnixSocketTests {
  private static func path() -> String { "/tmp/parley-\(getpid())-\(UInt64.random(in: 0 ... .max)).sock" }

  /// Serves on a fresh path, has `body` call it, and drains.
  private func serve(
    mode: UInt32? = nil, at path: String = path(),
    _ body: @escaping @Sendable (EchoService.Client, String, Peers) async throws -> Void
  ) async throws {
    let group = try EventLoopGroup(count: 2)
    let peers = Peers()
    let handlers = EchoHandlers { _, call in peers.seen.withLock { $0.append(call.peer) } }
    let server = RPCServer(on: group, services: [EchoService.routes(handlers)])
    let address = try server.listen(on: SocketAddress("unix:\(path)"), unixAccess: .init(mode: mode))
    #expect(address == SocketAddress(.unix(path: path)))
    let channel = ClientChannel(to: .unix(path: path), on: group)
    let result: Result<Void, any Error>
    do {
      try await group.loops[0].perform { try await body(EchoService.Client(channel), path, peers) }
      result = .success(())
    } catch { result = .failure(error) }
    await channel.close()
    await server.drain(within: .seconds(10))
    group.shutDown()
    try result.get()
    #expect(access(path, F_OK) != 0)
  }

  private final class Peers: Sendable { let seen = Mutex<[Peer]>([]) }

  @Test("A call over a Unix socket is served; its peer has no address but the socket")
  func call() async throws {
    try await serve { client, _, peers in
      let answer = try await client.echo(.init(text: "hello"))
      #expect(answer.text == "hello")
      let numbers = try await client.count(.init(to: 5)) { responses in
        var numbers: [Int32] = []
        for try await message in responses { numbers.append(message.number) }
        return numbers
      }
      #expect(numbers == [1, 2, 3, 4, 5])
      #expect(peers.seen.withLock { $0.map(\.address) } == ["unix"])
      #expect(peers.seen.withLock { $0.map(\.port) } == [nil])
    }
  }

  @Test("The socket's file has the mode that was asked for", arguments: [0o600, 0o660, 0o666] as [UInt32])
  func permissions(_ mode: UInt32) async throws {
    try await serve(mode: mode) { client, path, _ in
      var status = stat()
      #expect(lstat(path, &status) == 0)
      #expect(status.st_mode & 0o777 == mode)
      _ = try await client.echo()
    }
  }

  @Test("A socket that a killed process left behind is replaced")
  func stale() async throws {
    let path = Self.path()
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #expect(SocketAddress(.unix(path: path)).withSockaddr { bind(descriptor, $0, $1) } == 0)
    #expect(listen(descriptor, 1) == 0)
    close(descriptor)
    try await serve(at: path) { client, _, _ in _ = try await client.echo() }
  }
}
