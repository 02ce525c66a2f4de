/// The interceptors of a channel, as its calls pass them on their way out.
package struct ClientInterceptorChain: Sendable {
  private let interceptors: [any ClientInterceptor]

  /// A chain of interceptors, outermost first.
  package init(_ interceptors: [any ClientInterceptor]) { self.interceptors = interceptors }

  /// Whether calls meet nothing on their way.
  package var isEmpty: Bool { interceptors.isEmpty }

  /// Makes a unary call as often as the interceptors ask for it; the last response counts.
  ///
  /// - Throws: What the outermost interceptor throws, or ``StatusCode/internal`` when none of them made the call.
  package func unary<Response: Sendable>(
    _ method: MethodInfo, _ options: CallOptions, _ call: (CallOptions) async throws(RPCError) -> Response
  ) async throws(RPCError) -> Response {
    var response: Response?
    try await Self.pass(interceptors[...], method, options) { (options) async throws(RPCError) in
      response = try await call(options)
    }
    guard let response else { throw Self.noCall }
    return response
  }

  /// Makes a call and runs `body` on it, once, whatever interceptors do: one that goes on again after that gets the error of the
  /// first time. A call that could not begin may be begun again.
  ///
  /// - Throws: What `body` throws; what an interceptor makes of it, where that is a status.
  package func stream<Call, Result: Sendable>(
    _ method: MethodInfo, _ options: CallOptions, begin: (CallOptions) async throws(RPCError) -> Call,
    running body: (Call) async throws -> Result
  ) async throws -> Result {
    guard !isEmpty else { return try await body(begin(options)) }
    var result: Swift.Result<Result, any Error>?
    do throws(RPCError) {
      try await Self.pass(interceptors[...], method, options) { (options) async throws(RPCError) in
        if result == nil {
          let call = try await begin(options)
          do { result = .success(try await body(call)) } catch { result = .failure(error) }
        }
        if case .failure(let error)? = result { throw Self.told(error) }
      }
    } catch {
      // What an interceptor makes of a status counts; an error of the caller's own comes back as it was.
      if case .failure(let thrown)? = result, !(thrown is RPCError) { throw thrown }
      throw error
    }
    guard let result else { throw Self.noCall }
    return try result.get()
  }

  private static func pass(
    _ interceptors: ArraySlice<any ClientInterceptor>, _ method: MethodInfo, _ options: CallOptions,
    _ last: (CallOptions) async throws(RPCError) -> Void
  ) async throws(RPCError) {
    guard let first = interceptors.first else { return try await last(options) }
    try await first.intercept(method, options) { (options) async throws(RPCError) in
      try await pass(interceptors.dropFirst(), method, options, last)
    }
  }

  /// What interceptors are told of an error that is no status.
  private static func told(_ error: any Error) -> RPCError {
    error as? RPCError ?? RPCError(.cancelled, "the caller gave up: \(error)", cause: error)
  }

  private static var noCall: RPCError { RPCError(.internal, "an interceptor made no call and threw no error") }
}
