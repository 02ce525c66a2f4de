import EventLoop
import HTTP2
import Logging
import PostgreSQL
import RPC
import RPCServer
import Telemetry
import TestAPI

/// The server that `make bench` measures: the runtime with the echo service of the tests, behind the interceptors that every
/// service has.
@main struct BenchServer {
  static let service = "parley.testing.v1.EchoService"
  static let echo = MethodDescriptor<EchoRequest, EchoResponse>(service: service, name: "Echo", kind: .unary, access: .public)
  static let read = MethodDescriptor<EchoRequest, EchoResponse>(service: service, name: "Read", kind: .unary, access: .public)

  static func main() async throws {
    let options = try BenchOptions(CommandLine.arguments.dropFirst())
    let group = try EventLoopGroup(count: options.loops)
    var routes = [
      MethodRoute.unary(echo) { request, _ in EchoResponse(text: request.text, body: request.body, sequence: request.sequence) }
    ]
    if let url = options.database {
      routes.append(try await readRoute(Database(DatabaseConfiguration(url), group: group, log: Logger(label: "bench"))))
    }
    let descriptor = ServiceDescriptor(name: service, methods: routes.map(\.method))
    // As in every service: calls are counted, bounded in time, and logged at level info.
    let sink = LogSink()
    sink.gather(on: group.loops)
    let telemetry = TelemetryInterceptor(
      services: [descriptor], metrics: PrometheusRegistry(), log: AccessLog(sink, oneInOK: options.oneInOK))
    var configuration = RPCServerConfiguration()
    configuration.maximumCallDuration = .seconds(60)
    let server = RPCServer(
      on: group, services: [ServiceRoutes(descriptor, routes)], interceptors: [telemetry], configuration: configuration)
    try options.announce(try server.listen(on: SocketAddress("127.0.0.1:\(options.port)"), tls: options.tls))
    try await Task.sleep(for: .seconds(86_400))
  }

  /// One read by primary key in each call.
  static func readRoute(_ database: Database) async throws -> MethodRoute {
    await database.waitUntilReady()
    return .unary(read) { request, _ in
      guard let id = Int64(request.text) else { throw RPCError(.invalidArgument, "the text is no number") }
      let text: String? = try await database.reads.value("select text from item where id = \(id)")
      guard let text else { throw RPCError(.notFound, "no item \(id)") }
      return EchoResponse(text: text)
    }
  }
}
