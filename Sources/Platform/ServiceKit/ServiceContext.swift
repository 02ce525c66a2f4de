public import EventLoop
public import Logging
public import Outbound
public import PostgreSQL
public import RPCServer
public import Telemetry

/// What a service is built from.
public struct ServiceContext: Sendable {
  /// The effective settings.
  public let settings: Settings
  /// The loops that everything runs on.
  public let loops: EventLoopGroup
  /// The way out over HTTP.
  public let outbound: HTTPClient
  /// The log.
  public let log: Logger
  /// The time of day.
  public let clock: WallClock
  /// Whether the process serves; conditions of the service's own are set here.
  public let health: HealthStatus
  /// Where metrics are kept.
  public let metrics: PrometheusRegistry
  /// Who begins spans; inactive where nothing is traced.
  public let tracer: Tracer
  /// Who the client of a request is.
  public let proxies: TrustedProxies
  let connectedDatabase: Database?

  /// The database. Asking for it in a service without migrations is a programmer's mistake.
  public var database: Database {
    guard let connectedDatabase else { preconditionFailure("a service without migrations has no database") }
    return connectedDatabase
  }
}
