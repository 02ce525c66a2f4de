import EventLoop
import HTTP2
import Logging
import PostgreSQL
import RPC
import RPCServer
import Telemetry

/// The server that `make bench` measures: the runtime with the echo service of the tests, behind the interceptors that every
/// service has.
@main struct BenchServer {
  static func main() async throws {
    let options = try BenchOptions(CommandLine.arguments.dropFirst())
    let group = try EventLoopGroup(count: options.loops)
    var reads: [MethodRoute] = []
    if let url = options.database {
      let database = try Database(DatabaseConfiguration(url), group: group, log: Logger(label: "bench"))
      await database.waitUntilReady()
      reads = [BenchRoutes.read(database)]
    }
    let service = BenchRoutes.service(with: reads)
    // As in every service: calls are counted, bounded in time, and logged at level info.
    let sink = LogSink()
    sink.gather(on: group.loops)
    let telemetry = TelemetryInterceptor(
      services: [service.descriptor], metrics: PrometheusRegistry(), log: AccessLog(sink, oneInOK: options.oneInOK))
    var configuration = RPCServerConfiguration()
    configuration.maximumCallDuration = .seconds(60)
    let server = RPCServer(on: group, services: [service], interceptors: [telemetry], configuration: configuration)
    try options.announce(try server.listen(on: SocketAddress("127.0.0.1:\(options.port)"), tls: options.tls))
    try await Task.sleep(for: .seconds(86_400))
  }
}
