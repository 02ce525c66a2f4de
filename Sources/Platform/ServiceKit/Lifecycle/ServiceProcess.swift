internal import CShims
internal import EventLoop
internal import Glibc
internal import Logging
internal import Telemetry

/// A service as a process: logging, signals, systemd, exit code.
struct ServiceProcess<S: Service> {
  private let environment: [String: String]
  private let settings: Settings

  init(_ service: S.Type, _ settings: Settings, environment: [String: String]) {
    self.settings = settings
    self.environment = environment
  }

  /// Runs from start to drain.
  func run() async throws(ServiceFailure) {
    ReloadSignal.ignore()
    let telemetry = ServiceTelemetry(sink: LogSink())
    let log = Self.startLog(telemetry, settings[StandardKeys.logLevel])
    Self.announce(log)
    let systemd = SystemdNotifier(environment: environment)
    let instance: ServiceInstance
    do {
      instance = try await ServiceInstance.start(
        S.self, settings: settings, environment: environment, log: log, telemetry: telemetry)
    } catch {
      log.critical("cannot start", metadata: ["error": "\(error)", "exit": "\(error.status.rawValue)"])
      throw error
    }
    do {
      let signal = try catchSignals(instance, systemd, log)
      let reload = try catchReloads(instance, systemd, log)
      defer {
        signal.stop()
        reload.stop()
      }
      log.info("serving", metadata: ["addresses": "\(instance.addresses.text)"])
      systemd.ready("serving on \(instance.addresses.text)")
      let watchdog = Task { await Watchdog(systemd, instance.liveness).run() }
      defer { watchdog.cancel() }
      try await instance.run()
      log.info("stopped")
    } catch {
      let failure = ServiceFailure(error)
      log.critical("failed", metadata: ["error": "\(failure)", "exit": "\(failure.status.rawValue)"])
      throw failure
    }
  }

  private static func startLog(_ telemetry: ServiceTelemetry, _ level: Logger.Level) -> Logger {
    if let sink = telemetry.sink { LoggingSystem.bootstrap { ServiceTelemetry.handler($0, sink, level) } }
    return Logger(label: S.program)
  }

  private static func announce(_ log: Logger) {
    var fields: Logger.Metadata = [:]
    for (name, version) in ServiceVersion.lines(of: S.program) { fields[.init(name)] = "\(version)" }
    log.info("starting", metadata: fields)
    if ServiceVersion.isDebugBuild { log.warning("this is a debug build: slow, and not for production") }
  }

  private func catchSignals(
    _ instance: ServiceInstance, _ systemd: SystemdNotifier, _ log: Logger
  ) throws(EventLoopError) -> TerminationSignal {
    let signal = try TerminationSignal(on: instance.loops.loops[0])
    let limit = settings[StandardKeys.drainTimeout]
    signal.onFirst { number in
      log.info("asked to stop", metadata: ["signal": "\(number)"])
      systemd.stopping("draining")
      Self.endAtLast(after: limit + .seconds(10))
      instance.stop()
    }
    return signal
  }

  private func catchReloads(
    _ instance: ServiceInstance, _ systemd: SystemdNotifier, _ log: Logger
  ) throws(EventLoopError) -> ReloadSignal {
    let signal = try ReloadSignal(on: instance.loops.loops[0])
    signal.onEach {
      systemd.reloading()
      Task {
        if await !instance.reload() { log.info("asked to read files again, of which there are none: TLS is not served") }
        systemd.ready("serving on \(instance.addresses.text)")
      }
    }
    return signal
  }

  /// Whatever hangs on the way out (a job that ignores its cancellation, a peer that never closes) does not keep the process.
  private static func endAtLast(after limit: Duration) {
    _ = LoopThread(name: "last-resort") {
      var left = UInt32(clamping: limit.components.seconds)
      while left > 0 { left = sleep(left) }
      _exit(ExitStatus.internal.rawValue)
    }
  }
}
