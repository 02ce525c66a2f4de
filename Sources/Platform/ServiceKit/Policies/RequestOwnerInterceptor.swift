internal import PostgreSQL
internal import RPC
internal import Values

/// Says whose a request is that may be large: nobody has two of them worked on at once.
struct RequestOwnerInterceptor: ServerInterceptor {
  func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    call[RequestOwner.self] = call[Caller.Key.self]?.userID.description
    try await next(call)
  }
}
