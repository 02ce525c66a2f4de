internal import EventLoop
internal import HTTP2
internal import Limits
internal import Logging
internal import RPC
internal import RPCServer
internal import Telemetry

/// Puts a service's parts behind everything that every call passes.
struct ServerAssembly {
  private let services: [ServiceRoutes]
  private let interceptors: [any ServerInterceptor]
  private let parts: ServiceParts
  private let log: Logger
  private let registry: PrometheusRegistry
  private let proxies: TrustedProxies
  private let gate: AddressGate
  private let cors: CORS
  let configuration: RPCServerConfiguration
  let metrics: ServerMetrics
  private let tracer: Tracer
  private let slow: Duration
  private let oneInOK: Int
  private let events: RPCServerEvents

  init<S: Service>(
    _ service: S.Type, _ parts: ServiceParts, _ settings: Settings, _ health: HealthStatus, _ log: Logger,
    _ resources: ServiceResources, _ clock: WallClock
  ) throws {
    let telemetry = resources.telemetry
    let undeclared = parts.services.map(\.descriptor.name).filter { name in !S.services.contains { $0.name == name } }
    guard undeclared.isEmpty else {
      throw ServiceFailure(.internal, "\(S.program) serves \(undeclared.joined(separator: ", ")) without declaring it")
    }
    let served = parts.services + [HealthService(health).routes]
    let all = settings[StandardKeys.reflection] ? served.withReflection() : served
    let descriptors = all.map(\.descriptor)
    proxies = TrustedProxies(settings[StandardKeys.trustedProxies])
    gate = AddressGate(
      BucketRate(perMinute: settings[StandardKeys.addressPerMinute], burst: settings[StandardKeys.addressBurst]), proxies, clock,
      telemetry.registry)
    // Other services are known by their certificates, unless this one has a way of its own.
    let clients = AccessGuard.authenticator(ClientIdentityAuthenticator(settings[StandardKeys.tlsClientIdentities]))
    let admins = AccessGuard.authenticator(ClientIdentityAuthenticator(settings[StandardKeys.tlsAdminIdentities]))
    let access = try AccessPolicy(
      for: descriptors, guards: parts.guards.merging([.service: clients, .admin: admins]) { own, _ in own }, gate: gate)
    let policies = try MethodPolicies(
      for: descriptors, parts, settings[StandardKeys.rateLimits],
      .init(
        proxies: proxies, clock: clock, longestCall: settings[StandardKeys.maxCallDuration], loops: resources.loops.loops,
        registry: telemetry.registry, log: log))
    services = all.guarded(by: policies, access)
    let counting: [any ServerInterceptor] = telemetry.costs.map { [CallCostInterceptor(costs: $0)] } ?? []
    interceptors =
      counting + [
        CallTelemetry.interceptor(descriptors, log, telemetry, settings, resources.tracing.tracer),
        RequestIDInterceptor(), ErrorMappingInterceptor(),
      ]
      + parts.interceptors
    self.log = log
    registry = telemetry.registry
    let policy = CORSPolicy(settings[StandardKeys.corsOrigins])
    cors = CORS(policy)
    self.parts = parts
    var configuration = RPCServerConfiguration(settings)
    configuration.cors = policy
    configuration.proxies = proxies.forwardedClients
    try Self.declared(S.self, parts, besides: configuration.maximumRequestBytes)
    self.configuration = configuration
    var events = Self.events(log)
    let metrics = ServerMetrics(registry, resources.loops)
    metrics.observe(&events)
    self.events = events
    self.metrics = metrics
    tracer = resources.tracing.tracer
    slow = settings[StandardKeys.slowCall]
    oneInOK = settings[StandardKeys.accessSampling]
  }

  /// Memory is laid out by what a service declares to take: more than that would find no room.
  private static func declared<S: Service>(_ service: S.Type, _ parts: ServiceParts, besides usual: Int) throws {
    let methods = parts.services.flatMap(\.methods).compactMap { method in method.requestLimit.map { ($0.room, $0.bytes) } }
    let routes = parts.http.compactMap { route in route.maximumBodyBytes.map { (route.room, $0) } }
    for (room, bytes) in methods + routes where bytes > max(usual, S.largestRequests[room] ?? 0) {
      throw ServiceFailure(.internal, "\(S.program) takes \(bytes) bytes in the room '\(room)' without declaring it")
    }
  }

  func server(on loops: EventLoopGroup) -> RPCServer {
    let http = parts.http.map { route in
      var route = route
      route.handler = middleware(route.path).wrapping(route.handler)
      return route
    }
    return RPCServer(
      on: loops, services: services, interceptors: interceptors, http: http,
      fallback: middleware("other").wrapping(parts.fallback),
      configuration: configuration, events: events)
  }

  private func middleware(_ label: String) -> [any HTTPMiddleware] {
    let report: HTTPErrors.Report = { [log] request, error, incident in
      log.error("unexpected error", metadata: ["path": "\(request.path)", "incident": "\(incident)", "error": "\(error)"])
    }
    let access = HTTPAccessLog(
      log, registry, label: label, proxies: proxies, tracer: tracer, oneInOK: oneInOK, slow: slow)
    return [HTTPRequestID(), access, cors, HTTPErrors(report: report), AddressGateMiddleware(gate: gate)]
  }

  private static func events(_ log: Logger) -> RPCServerEvents {
    var events = RPCServerEvents()
    events.unexpectedError = { call, error, incident in
      log.error("unexpected error", metadata: ["method": "\(call.method.path)", "incident": "\(incident)", "error": "\(error)"])
    }
    events.unexpectedHTTPError = { path, error, incident in
      log.error("unexpected error", metadata: ["path": "\(path)", "incident": "\(incident)", "error": "\(error)"])
    }
    events.httpRefused = { refusal, method, path, peer in
      log.info(
        "request refused",
        metadata: [
          "method": "\(method.prefix(16))", "path": "\(path.prefix(256))", "status": "\(refusal.status)",
          "reason": "\(refusal.reason)",
          "peer": "\(peer.address)",
        ])
    }
    events.connectionFailed = { peer, error in log.debug("connection failed", metadata: ["peer": "\(peer)", "error": "\(error)"])
    }
    return events
  }
}
