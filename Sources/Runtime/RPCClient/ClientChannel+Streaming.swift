internal import EventLoop
public import MessagesCore
public import RPC

extension ClientChannel {
  /// Makes a call of any kind; see ``Channel``.
  ///
  /// Interceptors see the call from its beginning to the end of `body`. `body` runs at most once: an interceptor that goes on to
  /// `next` again after that gets the error of the first time.
  public func stream<Request: Message, Response: Message, Result: Sendable>(
    _ method: MethodDescriptor<Request, Response>, _ options: CallOptions,
    _ body: (ClientStream<Request, Response>) async throws -> Result
  ) async throws -> Result {
    try await withCall(method.info, options) { call in try await body(ClientStream(call)) }
  }

  private func withCall<Result: Sendable>(
    _ method: MethodInfo, _ options: CallOptions, _ body: (StreamingCall) async throws -> Result
  ) async throws -> Result {
    try await interceptors.stream(method, options) { (options) async throws(RPCError) in
      try await begin(method, options)
    } running: { call in
      try await scope(call, body)
    }
  }

  private func begin(_ method: MethodInfo, _ options: CallOptions) async throws(RPCError) -> StreamingCall {
    let home = home()
    let plan = try CallPlan(method, options, home.context)
    return try await home.loop.visit { () async throws(RPCError) in
      StreamingCall(try await RetriedCall.begin(plan, on: home))
    }
  }

  private func scope<Result: Sendable>(
    _ call: StreamingCall, _ body: (StreamingCall) async throws -> Result
  ) async throws -> Result {
    defer { call.leave() }
    return try await withTaskCancellationHandler {
      try await body(call)
    } onCancel: {
      call.cancel()
    }
  }
}

extension ClientChannel: PayloadChannel {
  /// Makes a call of any kind with messages as bytes; see ``PayloadChannel``.
  package func streamPayloads<Result: Sendable>(
    _ method: MethodInfo, _ options: CallOptions, _ body: (any PayloadCall) async throws -> Result
  ) async throws -> Result {
    try await withCall(method, options) { call in try await body(call) }
  }
}
