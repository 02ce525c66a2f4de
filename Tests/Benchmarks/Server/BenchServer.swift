import EventLoop
import HTTP2
import RPC
import RPCServer
import TestAPI

/// The server that `make bench` measures: the runtime with the echo service of the tests.
@main struct BenchServer {
  static let echo = MethodDescriptor<EchoRequest, EchoResponse>(
    service: "parley.testing.v1.EchoService", name: "Echo", kind: .unary, access: .public)

  static func main() async throws {
    let options = try BenchOptions(CommandLine.arguments.dropFirst())
    let group = try EventLoopGroup(count: options.loops)
    let routes = ServiceRoutes(
      ServiceDescriptor(name: "parley.testing.v1.EchoService", methods: [echo.info]),
      [.unary(echo) { request, _ in EchoResponse(text: request.text, body: request.body, sequence: request.sequence) }])
    let server = RPCServer(on: group, services: [routes])
    let address = try server.listen(on: SocketAddress("127.0.0.1:\(options.port)"), tls: options.tls)
    try options.announce(address)
    try await Task.sleep(for: .seconds(86_400))
  }
}
