/// Something that every call passes on its way to its handler and back: authentication, limits, logs, metrics.
///
/// Interceptors are values, given to the server in the order in which a call meets them. One may refuse the call by
/// throwing before `next`, attach ``CallValues``, add trailers, or look at how the call ended.
public protocol ServerInterceptor: Sendable {
  /// Serves `call`, usually by way of `next`.
  func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws

  /// What lets a call of `method` pass without waiting, where that is most of what this one does; nil: every call is intercepted.
  ///
  /// It spares those calls a frame that suspends, which costs more than to look a session up. Asked for once for each method.
  ///
  /// - Returns: Whether the call passes; if not, ``intercept(_:next:)`` judges it. What it throws refuses the call.
  func admission(for method: MethodInfo) -> (@Sendable (any ServerCall) throws -> Bool)?

  /// What does all that this one does without being in the way, or nil. A server uses it in the place of its outermost interceptor.
  var observer: (any ServerCallObserver)? { get }

  /// Who is told of the calls that are refused before any interceptor sees them, or nil. A server asks its outermost interceptor.
  var refusalObserver: (any ServerCallObserver)? { get }
}

extension ServerInterceptor {
  /// None: it may refuse calls, or bring something to their task.
  public var observer: (any ServerCallObserver)? { nil }
  /// Its ``observer``.
  public var refusalObserver: (any ServerCallObserver)? { observer }
  /// None: every call is intercepted.
  public func admission(for method: MethodInfo) -> (@Sendable (any ServerCall) throws -> Bool)? { nil }
}

extension MethodRoute {
  /// This route behind `interceptors`, the first of which is the outermost.
  public func intercepted(by interceptors: [any ServerInterceptor]) -> MethodRoute {
    var route = self
    for interceptor in interceptors.reversed() {
      let next = route.serve
      guard let admits = interceptor.admission(for: method) else {
        route.serve = { call in try await interceptor.intercept(call, next: next) }
        continue
      }
      route.serve = { call in
        if try admits(call) { return try await next(call) }
        try await interceptor.intercept(call, next: next)
      }
    }
    return route
  }
}
