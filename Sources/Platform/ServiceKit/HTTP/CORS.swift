public import RPCServer

/// Lets pages of other origins call plain HTTP routes: headers on every answer, whatever its status, and 204 for OPTIONS. The
/// same policy holds for RPCs, where the server itself applies it.
public struct CORS: HTTPMiddleware {
  private let policy: CORSPolicy

  /// Allows the given origins.
  public init(_ origins: CORSOrigins) { policy = CORSPolicy(origins) }

  /// Allows what `policy` allows.
  public init(_ policy: CORSPolicy) { self.policy = policy }

  /// Answers the request by way of `next`.
  public func handle(_ request: HTTPServerRequest, next: HTTPRoute.Handler) async throws -> HTTPServerResponse {
    var response = request.method == "OPTIONS" ? HTTPServerResponse(204) : try await next(request)
    response.headers += headers(for: request.header("origin"))
    return response
  }

  /// The headers for a request from `origin`.
  func headers(for origin: String?) -> [(name: String, value: String)] {
    var headers: [(name: String, value: String)] = []
    if let allowed = policy.allowedOrigin(for: origin) { headers.append(("access-control-allow-origin", allowed)) }
    headers.append(("access-control-allow-headers", "authorization, content-type"))
    headers.append(("access-control-allow-methods", "GET, OPTIONS"))
    headers.append(("vary", "Origin"))
    return headers
  }
}
