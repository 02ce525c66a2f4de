internal import Logging
internal import RPC
internal import Telemetry

/// The log, the metrics and the spans of every RPC, for all services of a process.
enum CallTelemetry {
  static func interceptor(
    _ services: [ServiceDescriptor], _ log: Logger, _ telemetry: ServiceTelemetry, _ settings: Settings, _ tracer: Tracer
  ) -> any ServerInterceptor {
    let lines = telemetry.sink.flatMap {
      AccessLog(
        $0, level: log.logLevel, oneInOK: settings[StandardKeys.accessSampling], slow: settings[StandardKeys.slowCall])
    }
    return TelemetryInterceptor(services: services, metrics: telemetry.registry, log: lines, tracer: tracer)
  }
}
