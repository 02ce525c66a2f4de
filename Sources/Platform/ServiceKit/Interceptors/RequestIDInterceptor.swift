public import RPC
internal import Telemetry

/// Tells the caller under which name a call is logged (`x-request-id`).
///
/// A caller's own id comes back with the headers, if it is sane. An id made here comes back with the trailers of a call that
/// failed, which is when somebody asks for it: a new header value on every answer would cost as much as a small call.
public struct RequestIDInterceptor: ServerInterceptor {
  /// Makes the interceptor; it has no settings.
  public init() {}

  /// Serves the call by way of `next`.
  public func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    if call.metadata[RequestID.header] != nil { call.initialMetadata[RequestID.header] = RequestID.of(call) }
    do { try await next(call) } catch {
      if call.initialMetadata[RequestID.header] == nil { call.trailingMetadata[RequestID.header] = RequestID.of(call) }
      throw error
    }
  }
}
