internal import Logging
internal import RPC
internal import Telemetry

/// The log and the metrics of every RPC, for all services of a process.
enum CallTelemetry {
  static func interceptor(
    _ services: [ServiceDescriptor], _ log: Logger, _ telemetry: ServiceTelemetry, _ settings: Settings
  ) -> any ServerInterceptor {
    let lines = telemetry.sink.flatMap {
      AccessLog($0, level: log.logLevel, oneInOK: settings[StandardKeys.accessSampling])
    }
    return TelemetryInterceptor(services: services, metrics: telemetry.registry, log: lines)
  }
}
