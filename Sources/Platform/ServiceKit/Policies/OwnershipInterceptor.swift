public import RPC

/// The option `(parley.options.v1.owner)`, enforced: an account that the request names is the caller's own, or the call is
/// PERMISSION_DENIED `NOT_YOUR_OWN`, whether there is such an account or not.
public struct OwnershipInterceptor: ServerInterceptor {
  let policy: MethodPolicy

  /// Serves the call by way of `next`.
  public func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    let caller = try CallContext(call).caller
    let read = try await ReadCall.reading(call, policy)
    for owner in try policy.owners?(read.message()) ?? [] { try caller.mustOwn(owner) }
    try await next(read)
  }
}
