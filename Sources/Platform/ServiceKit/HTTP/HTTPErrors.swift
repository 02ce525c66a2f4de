internal import ErrorReasons
internal import JSON
public import RPC
public import RPCServer

/// Answers an error that a route throws as plain text with the status that goes with its code.
///
/// What is neither an ``RPC/RPCError`` nor known to ``ErrorMap`` is a defect: the caller gets 500 and an incident id, and the report
/// gets both. Nothing is thrown further, so that what stands outside this (``CORS``) sees every answer.
public struct HTTPErrors: HTTPMiddleware {
  /// Is told of an unexpected error, for the log.
  public typealias Report = @Sendable (_ request: HTTPServerRequest, _ error: any Error, _ incident: String) -> Void

  private let report: Report

  /// Tells `report` what no caller should see.
  public init(report: @escaping Report) { self.report = report }

  /// Answers the request by way of `next`.
  public func handle(_ request: HTTPServerRequest, next: HTTPRoute.Handler) async throws -> HTTPServerResponse {
    do { return try await next(request) } catch {
      if let known = ErrorMap.rpcError(for: error) { return .error(known) }
      let incident = HTTPRequestID.make()
      report(request, error, incident)
      return .text(500, "internal error, incident \(incident)")
    }
  }
}

extension HTTPServerResponse {
  /// The answer that tells of an error: its message as text, with `retry-after` and `www-authenticate` where they belong. Where a
  /// subscription is missing it is JSON, with the hints by which the apps open their paywall.
  public static func error(_ error: RPCError) -> HTTPServerResponse {
    if error.reason == "SUBSCRIPTION_REQUIRED" {
      let body: JSONValue = [
        "success": false, "error": .string(error.message), "requiresSubscription": true, "redirectToPaywall": true,
      ]
      return .json(error.httpStatus, body.encoded())
    }
    var headers: [(name: String, value: String)] = []
    if let delay = error.retryAfter { headers.append(("retry-after", "\(delay.wholeSecondsUp)")) }
    for name in RateLimitFields.names {
      if let value = error.metadata[name] { headers.append((name, value)) }
    }
    let status = error.httpStatus
    if status == 401 { headers.append(("www-authenticate", "Bearer")) }
    return .text(status, error.message, headers: headers)
  }
}

extension Duration {
  /// The duration in whole seconds, rounded up and at least one: what `retry-after` takes.
  public var wholeSecondsUp: Int64 {
    let (seconds, attoseconds) = components
    return max(1, attoseconds > 0 ? seconds + 1 : seconds)
  }
}
