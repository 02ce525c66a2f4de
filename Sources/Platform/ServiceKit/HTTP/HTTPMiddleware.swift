public import RPCServer

/// Something that every plain HTTP request passes on its way to its route and back.
public protocol HTTPMiddleware: Sendable {
  /// Answers `request`, usually by way of `next`.
  func handle(_ request: HTTPServerRequest, next: HTTPRoute.Handler) async throws -> HTTPServerResponse
}

extension Sequence where Element == any HTTPMiddleware {
  /// `handler` behind these, the first of which is the outermost.
  public func wrapping(_ handler: @escaping HTTPRoute.Handler) -> HTTPRoute.Handler {
    reversed().reduce(handler) { next, middleware in { request in try await middleware.handle(request, next: next) } }
  }
}

extension HTTPRoute {
  /// A route for GET; every other method is answered with 405.
  ///
  /// - Parameters:
  ///   - path: The exact path.
  ///   - allowsHead: Whether HEAD is served too, by the same handler. Not for a handler with an effect.
  ///   - handler: What answers.
  public static func get(_ path: String, allowsHead: Bool = false, _ handler: @escaping Handler) -> HTTPRoute {
    HTTPRoute(path) { request in
      guard request.method == "GET" || (allowsHead && request.method == "HEAD") else {
        return .text(405, "method not allowed", headers: [("allow", allowsHead ? "GET, HEAD, OPTIONS" : "GET, OPTIONS")])
      }
      return try await handler(request)
    }
  }
}
