/// Something that every call passes on its way out: credentials, tracing, retry.
///
/// It sees a call by its method and options, without the messages, so that one interceptor serves every method.
public protocol ClientInterceptor: Sendable {
  /// Makes the call by way of `next`, any number of times.
  func intercept(
    _ method: MethodInfo, _ options: CallOptions, next: (CallOptions) async throws(RPCError) -> Void
  ) async throws(RPCError)
}
