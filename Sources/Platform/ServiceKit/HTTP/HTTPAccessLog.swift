internal import EventLoop
public import Logging
public import RPCServer
public import Telemetry

/// Logs, counts and traces every plain HTTP request: `http_server_request_duration_seconds{path,method,status}`, where only registered
/// paths and known methods have a label of their own.
public struct HTTPAccessLog: HTTPMiddleware {
  private let log: Logger
  private let registry: PrometheusRegistry
  private let proxies: TrustedProxies
  private let label: String
  private let tracer: Tracer?
  private let oneInOK: Int
  private let slow: Duration

  /// A log of one route.
  ///
  /// - Parameters:
  ///   - log: Where the lines go.
  ///   - registry: Where requests are counted.
  ///   - label: The route's path, or `other`.
  ///   - proxies: Whose word on the client's address is taken.
  ///   - tracer: Who begins a span for each request, or nil.
  ///   - oneInOK: Of so many requests that end with a status below 400 and are not slow, one is logged; 1 for all.
  ///   - slow: A request that took so long is logged whatever the sampling.
  public init(
    _ log: Logger, _ registry: PrometheusRegistry, label: String, proxies: TrustedProxies, tracer: Tracer? = nil,
    oneInOK: Int = 1, slow: Duration = .seconds(1)
  ) {
    self.tracer = tracer?.isActive == true ? tracer : nil
    self.oneInOK = max(1, oneInOK)
    self.slow = slow
    self.log = log
    self.registry = registry
    self.label = label
    self.proxies = proxies
  }

  /// Answers the request by way of `next`.
  public func handle(_ request: HTTPServerRequest, next: HTTPRoute.Handler) async throws -> HTTPServerResponse {
    guard let tracer else { return try await answer(request, next) }
    let remote = request.header(SpanContext.parentHeader).flatMap {
      SpanContext(parent: $0, state: request.header(SpanContext.stateHeader))
    }
    let method = Self.known(request.method)
    let span = tracer.serve("\(method) \(label)", remote: remote)
    defer { span.end() }
    let response = try await Span.$current.withValue(span) { try await answer(request, next) }
    span.set("http.request.method", .string(method))
    span.set("http.route", .string(label))
    span.set("url.path", .string(String(request.path.prefix(256))))
    span.set("http.response.status_code", .int(Int64(response.status)))
    if response.status >= 500 {
      span.set("error.type", .string("\(response.status)"))
      span.fail("status \(response.status)")
    }
    return response
  }

  private static func known(_ method: String) -> String {
    ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"].contains(method) ? method : "other"
  }

  private func answer(_ request: HTTPServerRequest, _ next: HTTPRoute.Handler) async throws -> HTTPServerResponse {
    let start = MonotonicInstant.now()
    let notes = RequestNotes()
    let response = try await RequestNotes.$current.withValue(notes) { try await next(request) }
    let nanoseconds = MonotonicInstant.now().nanoseconds &- start.nanoseconds
    let method = Self.known(request.method)
    let labels = [("path", label), ("method", method), ("status", "\(response.status)")]
    registry.histogram("http_server_request_duration_seconds", help: "Time from a request to its answer.", labels: labels)
      .recordNanoseconds(Int64(clamping: nanoseconds))
    let isUnremarkable = response.status < 400 && nanoseconds < UInt64(max(0, slow.saturatingNanoseconds))
    if isUnremarkable, oneInOK > 1, Int.random(in: 0..<oneInOK) != 0 { return response }
    let noted = notes.all
    let fields: Logger.Metadata = [
      // The query may hold anything, so it is not logged; the path is bounded.
      "method": "\(method)", "path": "\(request.path.prefix(256))", "status": "\(response.status)",
      "duration_ms": "\(Double(nanoseconds / 1_000) / 1_000)", "client": "\(proxies.client(of: request))",
    ]
    log.log(
      level: noted.needsAttention ? .error : .info, "request", metadata: fields.merging(noted.metadata) { first, _ in first })
    return response
  }
}
