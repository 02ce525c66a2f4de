internal import EventLoop
public import Logging
public import RPCServer
public import Telemetry

/// Logs and counts every plain HTTP request: `http_server_request_duration_seconds{path,method,status}`, where only registered
/// paths and known methods have a label of their own.
public struct HTTPAccessLog: HTTPMiddleware {
  private let log: Logger
  private let registry: PrometheusRegistry
  private let proxies: TrustedProxies
  private let label: String

  /// A log of one route.
  ///
  /// - Parameters:
  ///   - log: Where the lines go.
  ///   - registry: Where requests are counted.
  ///   - label: The route's path, or `other`.
  ///   - proxies: Whose word on the client's address is taken.
  public init(_ log: Logger, _ registry: PrometheusRegistry, label: String, proxies: TrustedProxies) {
    self.log = log
    self.registry = registry
    self.label = label
    self.proxies = proxies
  }

  /// Answers the request by way of `next`.
  public func handle(_ request: HTTPServerRequest, next: HTTPRoute.Handler) async throws -> HTTPServerResponse {
    let start = MonotonicInstant.now()
    let response = try await next(request)
    let nanoseconds = MonotonicInstant.now().nanoseconds &- start.nanoseconds
    let method = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"].contains(request.method) ? request.method : "other"
    let labels = [("path", label), ("method", method), ("status", "\(response.status)")]
    registry.histogram("http_server_request_duration_seconds", help: "Time from a request to its answer.", labels: labels)
      .recordNanoseconds(Int64(clamping: nanoseconds))
    log.info(
      "request",
      metadata: [
        // The query may hold anything, so it is not logged; the path is bounded.
        "method": "\(method)", "path": "\(request.path.prefix(256))", "status": "\(response.status)",
        "duration_ms": "\(Double(nanoseconds / 1_000) / 1_000)", "client": "\(proxies.client(of: request))",
      ])
    return response
  }
}
