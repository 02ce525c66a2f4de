public import RPC

/// Turns the errors of the floors below into what a caller may know of them; leaves the rest to the server, which answers
/// INTERNAL with an incident id.
public struct ErrorMappingInterceptor: ServerInterceptor {
  /// Makes the interceptor; it has no settings.
  public init() {}

  /// Serves the call by way of `next`.
  public func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    do { try await next(call) } catch {
      guard let known = ErrorMap.rpcError(for: error) else { throw error }
      throw known
    }
  }
}
