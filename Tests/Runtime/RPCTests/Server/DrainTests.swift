import EventLoop
import HTTP2
import RPC
import RPCClient
import RPCServer
import Synchronization
import TestAPI
import TestSupport
import Testing
import WellKnown

/// What a server that stops does with calls that would go on as long as it does.
@Suite("Draining")
struct DrainTests {
  private typealias Reflection = GRPCReflectionV1.ServerReflection
  private typealias Question = GRPCReflectionV1.ServerReflectionRequest

  private final class Statuses: Sendable {
    let heard = Mutex<[GRPCHealthV1.HealthCheckResponse.ServingStatus]>([])
  }

  private func serve(
    _ body: @escaping @Sendable (RPCServer, HealthStatus, ClientChannel) async throws -> Void
  ) async throws {
    let group = try EventLoopGroup(count: 1)
    let clients = try EventLoopGroup(count: 1)
    let status = HealthStatus(services: ["demo"])
    status.started()
    let server = RPCServer(on: group, services: [HealthService(status).routes].withReflection())
    let address = try server.listen(on: SocketAddress("127.0.0.1:0"))
    let channel = ClientChannel(to: .host("127.0.0.1", port: address.port ?? 0), on: clients)
    let result: Result<Void, any Error>
    do {
      try await clients.loops[0].perform { try await body(server, status, channel) }
      result = .success(())
    } catch { result = .failure(error) }
    await server.drain(within: .zero)
    await channel.close()
    clients.shutDown()
    group.shutDown()
    try result.get()
  }

  @Test("An idle reflection stream does not hold up a drain: it ends as UNAVAILABLE")
  func reflection() async throws {
    try await serve { server, _, channel in
      let client = Reflection.Client(channel)
      let answered = Signal()
      let code = Task { () -> StatusCode in
        do {
          try await client.serverReflectionInfo { call in
            try await call.send(Question(messageRequest: .listServices("")))
            for try await _ in call.responses { answered.fire() }
          }
          return .ok
        } catch { return (error as? RPCError)?.code ?? .unknown }
      }
      try await answered.wait(atMost: .seconds(30))
      try await within(.seconds(60)) { await server.drain(within: .seconds(600)) }
      #expect(await code.value == .unavailable)
    }
  }

  @Test(
    "A watch or a reflection stream that begins while the server drains does not hold it up either", arguments: [true, false])
  func lateStreams(_ isWatch: Bool) async throws {
    let (group, peers) = (try EventLoopGroup(count: 1), try EventLoopGroup(count: 1))
    let status = HealthStatus(services: ["demo"])
    status.started()
    var configuration = RPCServerConfiguration()
    // The peer does not say that it has seen the notice, so that what it begins afterwards is still taken.
    configuration.http2.drainNotice = .milliseconds(500)
    let server = RPCServer(on: group, services: [HealthService(status).routes].withReflection(), configuration: configuration)
    let address = try server.listen(on: SocketAddress("127.0.0.1:0"))
    let drained = try await peers.loops[0].perform { () async throws -> Task<Void, Never> in
      let peer = try await HTTP2Peer.open(to: address, on: peers.loops[0])
      peer.isPolite = false
      let drained = Task { await server.drain(within: .seconds(600)) }
      try await peer.wait("the notice") { peer.frames.contains { $0.type == 7 } }
      let path = isWatch ? "/grpc.health.v1.Health/Watch" : "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
      let fields = HTTP2Peer.httpHeaders("POST", path, [("content-type", "application/grpc")])
      peer.send(.headers(1, fields, ends: false))
      peer.sendBody(1, HTTP2Peer.message([]), ends: false)
      let answer = try await peer.response(1)
      #expect(answer.status == StatusCode.unavailable.rawValue)
      return drained
    }
    try await within(.seconds(60)) { await drained.value }
    peers.shutDown()
    group.shutDown()
  }

  @Test(
    "A health watch hears that nothing is served before it ends; where nobody tells it, it ends as UNAVAILABLE",
    arguments: [true, false])
  func watch(_ isTold: Bool) async throws {
    try await serve { server, status, channel in
      let client = GRPCHealthV1.Health.Client(channel)
      let first = Signal()
      let statuses = Statuses()
      let code = Task { () -> StatusCode in
        do {
          try await client.watch { responses in
            for try await answer in responses {
              statuses.heard.withLock { $0.append(answer.status) }
              first.fire()
            }
          }
          return .ok
        } catch { return (error as? RPCError)?.code ?? .unknown }
      }
      try await first.wait(atMost: .seconds(30))
      if isTold {
        status.startDraining()
        status.finish()
      }
      try await within(.seconds(60)) { await server.drain(within: .seconds(600)) }
      #expect(await code.value == (isTold ? .ok : .unavailable))
      #expect(statuses.heard.withLock { $0 } == (isTold ? [.serving, .notServing] : [.serving]))
    }
  }
}
