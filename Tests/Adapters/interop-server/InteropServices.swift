import EventLoop
import Glibc
import JudgeAPI
import RPC
import RPCServer

/// What the server serves, put together.
enum InteropServices {
  /// The full names of the services that report health.
  static var names: [String] { [GRPCTesting.TestService.descriptor.name] }

  /// A server of all of it that does not listen yet.
  static func server(on group: EventLoopGroup, health: HealthStatus, configuration: RPCServerConfiguration) -> RPCServer {
    var events = RPCServerEvents()
    events.unexpectedError = { call, error, incident in
      let line = Array("\(call.method.path): incident \(incident): \(error)\n".utf8)
      _ = write(STDERR_FILENO, line, line.count)
    }
    let services = [GRPCTesting.TestService.routes(TestServiceHandlers(serverID: serverID())), HealthService(health).routes]
    return RPCServer(
      on: group, services: services.withReflection(), interceptors: [MetadataEcho()], http: [page], configuration: configuration,
      events: events)
  }

  /// A page with a body of 64 bytes, for judges of HTTP/2 that know nothing of RPCs.
  private static let page = HTTPRoute("/") { _ in
    .text(200, String(repeating: "0123456789abcdef", count: 4))
  }

  /// The same for the life of the process, and another in each process.
  private static func serverID() -> String {
    "\(getpid())-" + String(UInt64.random(in: .min ... .max), radix: 16)
  }
}
