internal import EventLoop
internal import Outbound
internal import Telemetry

/// A span and a metric for each attempt of an outgoing HTTP request, by OpenTelemetry's conventions for HTTP clients, and the
/// trace sent along: `http_client_request_duration_seconds{server_address,http_request_method,status}`.
struct OutboundTelemetry: OutboundObserver {
  let tracer: Tracer
  /// Weak, since the registry reads the client's own figures, and the client holds its observer.
  weak let registry: PrometheusRegistry?

  private struct Observation: OutboundObservation {
    let span: Span?
    let registry: PrometheusRegistry?
    let attempt: OutboundAttempt
    let start = MonotonicInstant.now()

    func attemptEnds(_ outcome: Result<HTTPResponse, OutboundError>) {
      let status: String
      switch outcome {
      case .success(let response):
        status = "\(response.status)"
        span?.set("http.response.status_code", .int(Int64(response.status)))
        if response.status >= 400 {
          span?.set("error.type", .string(status))
          span?.fail("status \(status)")
        }
      case .failure(let error):
        status = "\(error.code)"
        span?.set("error.type", .string(status))
        span?.fail(error.description)
      }
      span?.end()
      registry?.histogram(
        "http_client_request_duration_seconds", help: "Time of one attempt of an outgoing request.",
        labels: [
          ("server_address", attempt.origin), ("http_request_method", attempt.method.name), ("status", status),
        ]
      ).recordNanoseconds(MonotonicInstant.now().duration(since: start).saturatingNanoseconds)
    }
  }

  func attemptBegins(_ attempt: OutboundAttempt, headers: inout HTTPHeaders) -> (any OutboundObservation)? {
    let span = tracer.part(attempt.method.name, .client)
    if let span {
      span.set("http.request.method", .string(attempt.method.name))
      span.set("url.full", .string(attempt.url))
      span.set("server.address", .string(attempt.origin))
      if attempt.number > 1 { span.set("http.request.resend_count", .int(Int64(attempt.number - 1))) }
    }
    if let context = span?.context ?? tracer.outgoing {
      headers[SpanContext.parentHeader] = context.parent
      if !context.state.isEmpty { headers[SpanContext.stateHeader] = context.state }
    }
    return Observation(span: span, registry: registry, attempt: attempt)
  }
}
