public import RPCServer

/// Lets pages of other origins call plain HTTP routes: headers on every answer, whatever its status, and 204 for OPTIONS.
public struct CORS: HTTPMiddleware {
  private let origins: CORSOrigins

  /// Allows the given origins.
  public init(_ origins: CORSOrigins) { self.origins = origins }

  /// Answers the request by way of `next`.
  public func handle(_ request: HTTPServerRequest, next: HTTPRoute.Handler) async throws -> HTTPServerResponse {
    var response = request.method == "OPTIONS" ? HTTPServerResponse(204) : try await next(request)
    response.headers += headers(for: request.header("origin"))
    return response
  }

  /// The headers for a request from `origin`.
  func headers(for origin: String?) -> [(name: String, value: String)] {
    var headers: [(name: String, value: String)] = []
    switch origins {
    case .any: headers.append(("access-control-allow-origin", "*"))
    case .list(let list):
      // One origin alone is named whoever asks; of several, the one that asks.
      if list.count == 1 {
        headers.append(("access-control-allow-origin", list[0]))
      } else if let origin, list.contains(origin) {
        headers.append(("access-control-allow-origin", origin))
      }
    }
    headers.append(("access-control-allow-headers", "authorization, content-type"))
    headers.append(("access-control-allow-methods", "GET, OPTIONS"))
    headers.append(("vary", "Origin"))
    return headers
  }
}
