public import RPC
internal import Telemetry

/// Tells the caller under which name a call is logged (`x-request-id`).
///
/// A caller's own id comes back with the headers, if it is sane; over gRPC, that of a call that failed comes back with the trailers. An
/// id made here comes back with the trailers of a call that failed, which is when somebody asks for it: a new header value on every
/// answer would cost as much as a small call.
public struct RequestIDInterceptor: ServerInterceptor {
  /// Makes the interceptor; it has no settings.
  public init() {}

  /// Serves the call by way of `next`.
  public func intercept(_ call: any ServerCall, next: MethodRoute.Serve) async throws {
    if call.requestIDText != nil { call.initialMetadata["x-request-id"] = RequestID.of(call) }
    do { try await next(call) } catch {
      let hasHeader = call.initialMetadata[RequestID.header] != nil
      if !hasHeader || call.protocolName != "connect" { call.trailingMetadata["x-request-id"] = RequestID.of(call) }
      // Headers of their own would tell gRPC clients that the call got somewhere, and may not be tried again (gRFC A6).
      if hasHeader, call.protocolName != "connect" { call.initialMetadata["x-request-id"] = nil }
      throw error
    }
  }
}
