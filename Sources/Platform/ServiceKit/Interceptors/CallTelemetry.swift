internal import Logging
internal import RPC
internal import Telemetry

/// The log, the metrics and the spans of every RPC, for all services of a process.
enum CallTelemetry {
  static func interceptor(
    _ services: [ServiceDescriptor], _ log: Logger, _ telemetry: ServiceTelemetry, _ settings: Settings, _ tracer: Tracer
  ) -> any ServerInterceptor {
    let (oneInOK, slow) = (settings[StandardKeys.accessSampling], settings[StandardKeys.slowCall])
    let lines =
      telemetry.sink.map { AccessLog($0, level: log.logLevel, oneInOK: oneInOK, slow: slow) }
      ?? AccessLog(log, oneInOK: oneInOK, slow: slow)
    return TelemetryInterceptor(services: services, metrics: telemetry.registry, log: lines, tracer: tracer)
  }
}
