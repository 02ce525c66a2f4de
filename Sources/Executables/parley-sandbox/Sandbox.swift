import EventLoop
import HTTP2
import Outbound
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

  /// The bytes of a request's body at most: what people upload comes here whole.
  private static let largestBody = 64 << 20

  let google: GoogleStandIn
  let apple: AppleStandIn
  let cloud: CloudStandIn
  let revenueCat = RevenueCatStandIn()
  let s3 = S3StandIn()
  let openAI: OpenAIStandIn
  let elevenLabs: ElevenLabsStandIn
  let effects = PaidEffects()
  let held = HeldRequests()
  let faults = FaultPlan()
  let counters = ServedCounters()
  private let log: LogLines
  private let group: EventLoopGroup
  private let server = Mutex<RPCServer?>(nil)
  /// The way out, for webhooks.
  private let http: HTTPClient

  /// A sandbox with fresh keys that does not listen yet. Webhooks trust the roots in `caFile`, or the system's.
  init(
    on group: EventLoopGroup, settings: GoogleSettings = .init(), keys: StandInKeys = .init(), caFile: String? = nil,
    log: LogLines = .none
  ) throws {
    self.group = group
    openAI = OpenAIStandIn(key: keys.openAI, effects: effects)
    elevenLabs = ElevenLabsStandIn(key: keys.elevenLabs, effects: effects)
    self.log = log
    google = GoogleStandIn(settings)
    apple = try AppleStandIn(keyLifetime: settings.certsMaxAge)
    cloud = CloudStandIn(google)
    var outbound = HTTPClientConfiguration()
    outbound.caFile = caFile
    // Whoever is posted to may be away for as long as a test wants.
    outbound.circuit = nil
    http = try HTTPClient(loops: group.loops, configuration: outbound)
  }

  /// Listens on the loopback interface; port 0 lets the system choose.
  func listen(tls: TLSContext, port: UInt16 = 0, plainPort: UInt16? = nil) throws -> Ports {
    let standIns =
      google.routes + apple.routes + cloud.routes + revenueCat.routes + s3.routes + openAI.routes + elevenLabs.routes
    let control = ControlRoutes(
      google: google, apple: apple, standIns: standIns, faults: faults, counters: counters, blocking: group.blocking)
    let revenueCatControl = RevenueCatControl(revenueCat: revenueCat, control: control, http: http)
    let steering =
      control.routes + revenueCatControl.routes + S3Control(s3: s3, control: control).routes
      + OpenAIControl(openAI: openAI, control: control).routes
      + ElevenLabsControl(elevenLabs: elevenLabs, control: control).routes
      + EffectControl(control: control, effects: effects, held: held, voices: elevenLabs).routes
    let server = RPCServer(
      on: group, services: [], http: standIns.flatMap(served) + steering, fallback: patterned(standIns),
      configuration: Self.configuration)
    let address = try server.listen(on: .init(.ipv4([127, 0, 0, 1], port: port)), tls: tls)
    let plain = try plainPort.map { try server.listen(on: .init(.ipv4([127, 0, 0, 1], port: $0))) }
    self.server.withLock { $0 = server }
    let ports = Ports(tls: address.port ?? 0, plain: plain?.port)
    google.listens(on: ports)
    return ports
  }

  /// Recordings are larger than what a service takes by default, and several come at once.
  private static var configuration: RPCServerConfiguration {
    var configuration = RPCServerConfiguration()
    configuration.maximumHTTPBodyBytes = largestBody
    configuration.http2.requestBytes = 256 << 20
    configuration.http2.processRequestBytes = 512 << 20
    return configuration
  }

  /// The key file with which the service under test is configured.
  var serviceAccountDocument: [UInt8] {
    get throws { try google.serviceAccountDocument }
  }

  /// Answers what is under way, for two seconds at most, and stops listening.
  func drain() async {
    let server = server.withLock { server in
      defer { server = nil }
      return server
    }
    held.release()
    await server?.drain(within: .seconds(2))
    await http.shutDown()
  }

  /// What answers for paths with a name in the middle.
  private func patterned(_ routes: [StandInRoute]) -> HTTPRoute.Handler {
    let answers = routes.flatMap { route in route.patterns.map { (pattern: $0, route: route, answer: answer(route)) } }
    return { request in
      let found = answers.filter { $0.pattern.matches(request.path) }
      guard let first = found.first else { return .text(404, "not found\n") }
      return try await (found.first { $0.route.method == request.method } ?? first).answer(request)
    }
  }

  /// One route under all its paths.
  private func served(_ route: StandInRoute) -> [HTTPRoute] {
    let answer = answer(route)
    return ([route.path] + route.aliases).map { HTTPRoute($0, answer) }
  }

  /// What a route answers, with the faults that were asked for, counted and logged.
  private func answer(_ route: StandInRoute) -> HTTPRoute.Handler {
    { [faults, held, counters, log] request in
      let started = MonotonicInstant.now()
      let requestID = request.header("x-client-request-id")
      let isDoneAnyway = await held.wait(route.path, isBefore: true, requestID: requestID)
      let response = try await faults.apply(to: route, request.method) {
        // Who went away while waiting asked for nothing, unless the hold says otherwise.
        if Task.isCancelled && !isDoneAnyway { return .dropped }
        let isServed = request.method == route.method || route.otherMethods.contains(request.method)
        return isServed ? try await route.answer(request) : .text(405, "method not allowed\n")
      }
      await held.wait(route.path, isBefore: false, requestID: requestID)
      counters.count(route.path, response)
      let outcome = response.resetsStream ? "dropped" : "\(response.status)"
      log.write("\(request.method) \(request.path) \(outcome) in \(MonotonicInstant.now().duration(since: started))")
      return response
    }
  }
}

/// Something that the sandbox stands in for, at one path.
struct StandInRoute: Sendable {
  /// The method that it answers.
  let method: String
  /// Those that it answers as well.
  var otherMethods: [String] = []
  /// The path by which it is counted and told to fail.
  let path: String
  /// Where the real one is to be found on its host, so that only the host needs to be configured.
  var aliases: [String] = []
  /// The same, for paths with a name in the middle.
  var patterns: [PathPattern] = []
  /// How it tells an error of a status and a name; nil for the sandbox's own way.
  var refusal: (@Sendable (Int, String?) -> HTTPServerResponse)?
  /// What answers.
  let answer: HTTPRoute.Handler
}

/// Paths with one name between a beginning and an end.
struct PathPattern: Sendable {
  let prefix: String
  let suffix: String
  /// Whether the name may have slashes.
  var spans = false

  /// Whether a path is one of them.
  func matches(_ path: String) -> Bool {
    path.utf8.count > prefix.utf8.count + suffix.utf8.count && path.hasPrefix(prefix) && path.hasSuffix(suffix)
      && (spans || !path.dropFirst(prefix.count).dropLast(suffix.count).contains("/"))
  }
}
