import EventLoop
import HTTP2
import RPC
import RPCServer
import Synchronization

/// The sandbox as a whole: what it stands in for, what steers it, and the server in front.
final class Sandbox: Sendable {
  /// Where it listens on the loopback interface.
  struct Ports: Sendable {
    let tls: UInt16
    let plain: UInt16?
  }

  let google: GoogleStandIn
  let apple: AppleStandIn
  let faults = FaultPlan()
  let counters = ServedCounters()
  private let log: LogLines
  private let group: EventLoopGroup
  private let server = Mutex<RPCServer?>(nil)

  /// A sandbox with fresh keys that does not listen yet.
  init(on group: EventLoopGroup, settings: GoogleSettings = .init(), log: LogLines = .none) throws {
    self.group = group
    self.log = log
    google = try GoogleStandIn(settings)
    apple = try AppleStandIn(keyLifetime: settings.certsMaxAge)
  }

  /// Listens on the loopback interface; port 0 lets the system choose.
  func listen(tls: TLSContext, port: UInt16 = 0, plainPort: UInt16? = nil) throws -> Ports {
    let standIns = google.routes + apple.routes
    let control = ControlRoutes(
      google: google, apple: apple, standIns: standIns, faults: faults, counters: counters, blocking: group.blocking)
    let server = RPCServer(on: group, services: [], http: standIns.flatMap(served) + control.routes)
    let address = try server.listen(on: .init(.ipv4([127, 0, 0, 1], port: port)), tls: tls)
    let plain = try plainPort.map { try server.listen(on: .init(.ipv4([127, 0, 0, 1], port: $0))) }
    self.server.withLock { $0 = server }
    let ports = Ports(tls: address.port ?? 0, plain: plain?.port)
    google.listens(on: ports)
    return ports
  }

  /// The key file with which the service under test is configured.
  var serviceAccountDocument: [UInt8] { google.serviceAccountDocument }

  /// Answers what is under way, for two seconds at most, and stops listening.
  func drain() async {
    let server = server.withLock { server in
      defer { server = nil }
      return server
    }
    await server?.drain(within: .seconds(2))
  }

  /// One route under all its paths, with the faults that were asked for, counted and logged.
  private func served(_ route: StandInRoute) -> [HTTPRoute] {
    let answer: HTTPRoute.Handler = { [faults, counters, log] request in
      let started = MonotonicInstant.now()
      let response = try await faults.apply(to: route.path) {
        request.method == route.method ? try await route.answer(request) : .text(405, "method not allowed\n")
      }
      counters.count(route.path, response)
      let outcome = response.resetsStream ? "dropped" : "\(response.status)"
      log.write("\(request.method) \(request.path) \(outcome) in \(MonotonicInstant.now().duration(since: started))")
      return response
    }
    return ([route.path] + route.aliases).map { HTTPRoute($0, answer) }
  }
}

/// Something that the sandbox stands in for, at one path.
struct StandInRoute: Sendable {
  /// The one method that it answers.
  let method: String
  /// The path by which it is counted and told to fail.
  let path: String
  /// Where the real one is to be found on its host, so that only the host needs to be configured.
  var aliases: [String] = []
  /// What answers.
  let answer: HTTPRoute.Handler
}
