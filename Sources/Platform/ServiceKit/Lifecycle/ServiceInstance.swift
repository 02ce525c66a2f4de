public import EventLoop
public import Logging
internal import Outbound
internal import PostgreSQL
internal import RPC
public import RPCServer
internal import Telemetry

/// A service that is up: connected, built, listening. What `serve` runs, and what tests start in their own process.
///
/// Signals, systemd and exit codes are the process's; see `serve`.
public final class ServiceInstance: Sendable {
  /// Where it listens.
  public let addresses: BoundAddresses
  /// Whether it serves.
  public let health: HealthStatus
  /// The loops that it runs on.
  public let loops: EventLoopGroup
  /// What runs beside the server, by name: background jobs, and their parts as `job: part`.
  public let maintenance: Set<String>
  let liveness: LoopLiveness
  private let lag: LoopLag
  private let settings: Settings
  private let log: Logger
  private let server: RPCServer
  private let resources: ServiceResources
  private let admin: LoopbackListener?
  private let portFile: PortFile?
  private let certificates: CertificateReloader?
  private let running: RunningServer
  private let jobs: NestedJobs

  /// Starts a service.
  ///
  /// The order: loops, database (waited for), what the service builds, listeners, readiness. When a step fails, what was
  /// started before it is stopped again.
  ///
  /// - Parameters:
  ///   - service: What is started.
  ///   - settings: Its configuration, read and checked.
  ///   - environment: Where inherited sockets are announced.
  ///   - log: Where it tells what happens.
  ///   - telemetry: Where metrics are kept and calls are logged.
  ///   - clock: The time of day, which tests choose.
  /// - Throws: ``ServiceFailure``, with the exit code.
  public static func start<S: Service>(
    _ service: S.Type, settings: Settings, environment: [String: String] = [:], log: Logger,
    telemetry: ServiceTelemetry = ServiceTelemetry(), clock: WallClock = .system
  ) async throws(ServiceFailure) -> ServiceInstance {
    try await start(
      service, settings: settings, activation: SocketActivation(environment: environment), log: log, telemetry: telemetry,
      clock: clock)
  }

  static func start<S: Service>(
    _ service: S.Type, settings: Settings, activation: SocketActivation, log: Logger,
    telemetry: ServiceTelemetry = ServiceTelemetry(), clock: WallClock = .system
  ) async throws(ServiceFailure) -> ServiceInstance {
    let findings = S.findings(settings)
    for finding in findings where finding.severity == .warning {
      log.warning("\(finding.message)", metadata: ["setting": "\(finding.key)"])
    }
    let errors = findings.filter { $0.severity == .error }
    guard errors.isEmpty else {
      throw ServiceFailure(.configuration, errors.map { "\($0.key): \($0.message)" }.joined(separator: "\n"))
    }
    let loops = await LoopCount.decide(S.self, settings, log)
    let resources: ServiceResources
    do { resources = try ServiceResources(S.self, settings, log, telemetry, clock, loops: loops) } catch {
      throw ServiceFailure(error)
    }
    do {
      return try await ServiceInstance(S.self, settings, activation, log, clock, resources)
    } catch {
      await resources.close()
      throw ServiceFailure(error)
    }
  }

  private init<S: Service>(
    _ service: S.Type, _ settings: Settings, _ activation: SocketActivation, _ log: Logger, _ clock: WallClock,
    _ resources: ServiceResources
  ) async throws {
    let health = HealthStatus()
    try await resources.connect(S.self, settings, health, log)
    let context = ServiceContext(
      settings: settings, loops: resources.loops, outbound: resources.outbound, log: log, clock: clock, health: health,
      metrics: resources.telemetry.registry, tracer: resources.tracing.tracer,
      proxies: TrustedProxies(settings[StandardKeys.trustedProxies]),
      connectedDatabase: resources.database)
    let parts = try await S.build(context)
    // A service may declare what its settings then leave out.
    health.serve(parts.services.map(\.descriptor.name))
    let assembly = try ServerAssembly(S.self, parts, settings, health, log, resources, clock)
    let server = assembly.server(on: resources.loops)
    let certificates = try CertificateReloader(settings, log, resources.telemetry.registry)
    let lag = LoopLag(resources.loops, resources.telemetry.registry) { [metrics = assembly.metrics] in metrics.look(server, $0) }
    let stalls = StallLog(log, resources.telemetry.registry) { [server] in server.handler(on: $0) }
    let liveness = LoopLiveness(resources.loops, threshold: settings[StandardKeys.stallThreshold], observer: stalls.observer)
    let pages = AdminPages(
      health: health, liveness: liveness, registry: resources.telemetry.registry,
      report: AdminReport(
        program: S.program, settings: settings, health: health, server: server, resources: resources,
        limits: assembly.configuration))
    do {
      activation.closeOnExec()
      (addresses, admin) = try Listeners(settings, activation, certificates).open(server, pages, resources)
      portFile = settings[StandardKeys.portFile].map { PortFile(path: $0.path) }
    } catch {
      liveness.stop()
      lag.stop()
      await server.drain(within: .zero)
      throw error
    }
    self.settings = settings
    self.health = health
    self.log = log
    self.server = server
    self.resources = resources
    self.liveness = liveness
    self.lag = lag
    self.certificates = certificates
    loops = resources.loops
    let pool = resources.loops.blocking
    let renewal = certificates.map { certificates in
      BackgroundJob("certificates") { try await certificates.run(on: pool) }
    }
    maintenance = Set(parts.jobs.flatMap { job in [job.name] + job.tasks.map { "\(job.name): \($0)" } })
    jobs = NestedJobs(parts.jobs + [renewal].compactMap(\.self))
    running = RunningServer(server, health, drainingWithin: settings[StandardKeys.drainTimeout], log)
    health.started()
  }

  /// Serves until ``stop()`` or until a background job fails; then drains and closes everything.
  ///
  /// - Throws: ``ServiceFailure`` when a background job failed.
  public func run() async throws(ServiceFailure) {
    let result = await Result {
      try await jobs.run { [self] in
        // Only now, since whoever reads the ports may send a signal the moment after.
        try portFile?.write(addresses)
        await running.run()
      }
    }
    portFile?.remove()
    admin?.close()
    liveness.stop()
    lag.stop()
    await server.drain(within: .zero)
    await resources.close()
    if case .failure(let error) = result { throw ServiceFailure(.internal, "a background job failed: \(error)") }
  }

  /// Begins to drain: NOT_SERVING, no new connections, GOAWAY, and the calls under way are finished. ``run()`` then returns.
  public func stop() { running.stop() }

  /// Reads the TLS files again, as SIGHUP asks for; what cannot be used is logged and changes nothing.
  ///
  /// - Returns: Whether there are any.
  @discardableResult
  public func reload() async -> Bool {
    guard let certificates else { return false }
    // Only a pool that is shut down refuses, and then nothing is served any more.
    try? await loops.blocking.run { certificates.reload() }
    return true
  }
}

extension Result where Failure == any Error {
  /// What an operation ends with.
  init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
