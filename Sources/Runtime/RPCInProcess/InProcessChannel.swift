public import MessagesCore
public import RPC

/// A channel to services in the same process, for tests: no socket, no encoding, the same calls.
///
/// What a generated client sees is what it sees over a socket: metadata both ways, deadlines, cancellation both ways, back-pressure
/// and errors with their details. What only an encoding could tell is not here: sizes, compression and limits on either.
public final class InProcessChannel: Channel {
  /// How many messages may wait for their reader, each way, before the writer suspends.
  public let queuedMessages: Int
  private let routes: [String: MethodRoute]
  private let clientInterceptors: ClientInterceptorChain
  private let executor: (any TaskExecutor)?
  private let unexpectedError: @Sendable (any Error, _ incident: String) -> Void

  /// A channel to `services`.
  ///
  /// - Parameters:
  ///   - services: What is served; of two services with one name the later one.
  ///   - interceptors: What every call meets before its handler, outermost first.
  ///   - clientInterceptors: What every call passes on its way out, outermost first.
  ///   - executor: Where handlers run, an event loop for example; nil for the shared pool of threads.
  ///   - queuedMessages: How many messages may wait for their reader, each way; at least one.
  ///   - unexpectedError: Who is told what a handler threw that is no ``RPC/RPCError``, under the name that the caller is told.
  public init(
    services: [ServiceRoutes], interceptors: [any ServerInterceptor] = [], clientInterceptors: [any ClientInterceptor] = [],
    on executor: (any TaskExecutor)? = nil, queuedMessages: Int = 16,
    unexpectedError: @escaping @Sendable (any Error, _ incident: String) -> Void = { _, _ in }
  ) {
    var routes: [String: MethodRoute] = [:]
    for service in services {
      for route in service.methods { routes[route.method.path] = route.intercepted(by: interceptors) }
    }
    self.routes = routes
    self.clientInterceptors = ClientInterceptorChain(clientInterceptors)
    self.executor = executor
    self.queuedMessages = max(queuedMessages, 1)
    self.unexpectedError = unexpectedError
  }

  /// Makes a unary call; see ``Channel``.
  public func unary<Request: Message, Response: Message>(
    _ method: MethodDescriptor<Request, Response>, _ request: Request, _ options: CallOptions
  ) async throws(RPCError) -> ClientResponse<Response> {
    try await clientInterceptors.unary(method.info, options) { (options) async throws(RPCError) in
      let call = InProcessClientCall(try begin(method.info, options))
      return try await call.scoped { () async throws(RPCError) in
        try await call.send(request, compressed: false)
        try await call.finishSending()
        guard let message = try await call.receive(Response.self) else {
          throw RPCError(.unimplemented, "the server sent no response")
        }
        return ClientResponse(
          message, initialMetadata: try await call.initialMetadata(), trailingMetadata: await call.trailingMetadata())
      }
    }
  }

  /// Makes a call of any kind; see ``Channel``. `body` runs at most once, whatever interceptors do.
  public func stream<Request: Message, Response: Message, Result: Sendable>(
    _ method: MethodDescriptor<Request, Response>, _ options: CallOptions,
    _ body: (ClientStream<Request, Response>) async throws -> Result
  ) async throws -> Result {
    try await clientInterceptors.stream(method.info, options) { (options) async throws(RPCError) in
      InProcessClientCall(try begin(method.info, options))
    } running: { call in
      try await call.scoped { try await body(ClientStream(call)) }
    }
  }

  private func begin(_ method: MethodInfo, _ options: CallOptions) throws(RPCError) -> InProcessCall {
    if let problem = options.metadata.unsendable { throw RPCError(.internal, "\(problem)", cause: problem) }
    let call = InProcessCall(
      method, metadata: options.metadata.transmitted, deadline: options.effectiveDeadline, queuedMessages: queuedMessages,
      unexpectedError: unexpectedError)
    call.begin(routes[method.path], on: executor)
    return call
  }
}
