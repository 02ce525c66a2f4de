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
      let defect = error as? HTTPDefect
      report(request, defect?.cause ?? error, incident)
      return defect?.answer(incident) ?? .text(500, "internal error, incident \(incident)")
    }
  }
}

/// An error that no caller should see, from a route that tells of failures in its own way: ``HTTPErrors`` reports the error, and answers
/// with what the route makes of the incident.
public struct HTTPDefect: Error {
  let cause: any Error
  let answer: @Sendable (_ incident: String) -> HTTPServerResponse

  /// Joins an error with what its caller is told.
  public init(_ cause: any Error, _ answer: @escaping @Sendable (_ incident: String) -> HTTPServerResponse) {
    self.cause = cause
    self.answer = answer
  }
}

extension HTTPServerResponse {
  /// The answer that tells of an error: its message as text, with `retry-after` and `www-authenticate` where they belong. Where a
  /// subscription is missing it is JSON, with the hints by which the apps open their paywall.
  public static func error(_ error: RPCError) -> HTTPServerResponse {
    if let hints = error.paywallHints { return .failure(error.httpStatus, error.message, error, adding: hints) }
    return .text(error.httpStatus, error.message, headers: error.httpFields(error.httpStatus))
  }
}

extension RPCError {
  /// By what the apps open their paywall; nil where no subscription is missing.
  var paywallHints: JSONObject? {
    reason == "SUBSCRIPTION_REQUIRED" ? ["requiresSubscription": true, "redirectToPaywall": true] : nil
  }

  /// When to come again, how the caller stands with a limit, and how to sign in, as headers of an answer of that status.
  func httpFields(_ status: Int) -> [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = []
    if let delay = retryAfter { fields.append(("retry-after", "\(delay.wholeSecondsUp)")) }
    for name in RateLimitFields.names {
      if let value = metadata[name] { fields.append((name, value)) }
    }
    if status == 401 { fields.append(("www-authenticate", "Bearer")) }
    return fields
  }
}

extension Duration {
  /// The duration in whole seconds, rounded up and at least one: what `retry-after` takes.
  public var wholeSecondsUp: Int64 {
    let (seconds, attoseconds) = components
    return max(1, attoseconds > 0 ? seconds + 1 : seconds)
  }
}
