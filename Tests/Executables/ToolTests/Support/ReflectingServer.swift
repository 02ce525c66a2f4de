import EventLoop
import RPC
import RPCServer

/// A server of any services on a port of its own, for as long as `body` runs.
enum ReflectingServer {
  static func serve(_ services: [ServiceRoutes], _ body: (String) async throws -> Void) async throws {
    let group = try EventLoopGroup(count: 1, name: "stub", blockingThreads: 1)
    defer { group.shutDown() }
    let server = RPCServer(on: group, services: services)
    let address = try server.listen(on: SocketAddress("127.0.0.1:0"))
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body("\(address)")) } catch { outcome = .failure(error) }
    await server.drain(within: .seconds(1))
    try outcome.get()
  }
}
