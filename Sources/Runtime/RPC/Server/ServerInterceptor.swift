/// Something that every call passes on its way to its handler and back: authentication, limits, logs, metrics.
///
/// Interceptors are values, given to the server in the order in which a call meets them. One may refuse the call by
/// throwing before `next`, attach ``CallValues``, add trailers, or look at how the call ended.
public protocol ServerInterceptor: Sendable {
  /// Serves `call`, usually by way of `next`.
  func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws

  /// What does all that this one does without being in the way, or nil. A server uses it in the place of its outermost interceptor.
  var observer: (any ServerCallObserver)? { get }
}

extension ServerInterceptor {
  /// None: it may refuse calls, or bring something to their task.
  public var observer: (any ServerCallObserver)? { nil }
}

extension MethodRoute {
  /// This route behind `interceptors`, the first of which is the outermost.
  public func intercepted(by interceptors: [any ServerInterceptor]) -> MethodRoute {
    var route = self
    for interceptor in interceptors.reversed() {
      let next = route.serve
      route.serve = { call in try await interceptor.intercept(call, next: next) }
    }
    return route
  }
}
